// Package client calls the pet store. The client is generated from openapi.yaml. By
// hand beside it are WithKey, which adds the API key, All, which walks over the
// pages, and Check, which tells a success from a refusal.
package client

import (
	"context"
	"fmt"
	"iter"
)

// All returns every pet that params select, in ascending order of ID. It asks
// for one page at a time, when the loop comes to it, and follows the links to
// the next page until there is none:
//
//	for pet, err := range client.All(ctx, c, nil) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(pet.ID, pet.Name)
//	}
//
// Every pet acknowledged before the loop began comes exactly once, none comes
// twice. The first error is the last thing yielded: a *ResponseError where the
// service refused, ctx's error once ctx has ended. To go on after one, pass the
// ID of the last pet as After. Ranging over the result again walks again.
//
// Limit is the size of a page, not of the walk; break ends that. Of a link only
// the position is taken: filter and page size stay those of params, and the key
// goes to no other address than the client's.
func All(ctx context.Context, c ClientWithResponsesInterface, params *ListPetsParams, editors ...RequestEditorFn) iter.Seq2[Pet, error] {
	return func(yield func(Pet, error) bool) {
		var ask ListPetsParams
		if params != nil {
			ask = *params
		}
		last := int64(-1) // the ID of the last pet, or where the walk begins
		if ask.After != nil {
			last = *ask.After
		}
		for {
			pets, next, err := page(ctx, c, ask, editors)
			for _, pet := range pets {
				if wrong := inOrder(ctx, last, pet); wrong != nil {
					err = wrong
					break
				}
				if last = pet.ID; !yield(pet, nil) {
					return
				}
			}
			if err == nil && next != nil && ask.After != nil && *next <= *ask.After {
				err = fmt.Errorf("the page after %d names as the next one that after %d", *ask.After, *next)
			}
			if err != nil {
				yield(Pet{}, fmt.Errorf("listing the pets: %w", err))
				return
			}
			if next == nil {
				return
			}
			ask.After = next
		}
	}
}

// page asks for one page. It returns the pets and where the next page begins,
// nil on the last.
func page(ctx context.Context, c ClientWithResponsesInterface, ask ListPetsParams, editors []RequestEditorFn) ([]Pet, *int64, error) {
	response, err := c.ListPetsWithResponse(ctx, &ask, editors...)
	if err != nil {
		return nil, nil, err
	}
	if err := Check(response.JSON200, response.HTTPResponse, response.Body); err != nil {
		return nil, nil, err
	}
	next, err := nextPage(response.HTTPResponse.Header.Values("Link"))
	return *response.JSON200, next, err
}

// inOrder returns why the walk cannot go on with pet after the ID last.
func inOrder(ctx context.Context, last int64, pet Pet) error {
	if pet.ID <= last {
		return fmt.Errorf("pet %d came after pet %d, want ascending order", pet.ID, last)
	}
	return ctx.Err()
}
