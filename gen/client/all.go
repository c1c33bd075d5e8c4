// Package client is a client of the pet store. Most of it is generated from
// openapi.yaml; WithKey, WithRetries, All and Check are written by hand.
package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strings"
)

// All returns all pets that params select, in ascending order of ID. It
// requests one page at a time, when the loop needs it:
//
//	for pet, err := range client.All(ctx, c, nil) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(pet.ID, pet.Name)
//	}
//
// Each pet that existed when the loop began is returned exactly once, even if
// others are added meanwhile. params.Limit is the page size.
//
// An error ends the loop. It is a *ResponseError if the service refused a
// request. To continue later, pass the ID of the last pet as params.After.
func All(ctx context.Context, c ClientWithResponsesInterface, params *ListPetsParams, editors ...RequestEditorFn) iter.Seq2[Pet, error] {
	return func(yield func(Pet, error) bool) {
		var next ListPetsParams
		if params != nil {
			next = *params
		}
		for {
			pets, more, err := listPage(ctx, c, next, editors)
			if err != nil {
				yield(Pet{}, fmt.Errorf("listing the pets: %w", err))
				return
			}
			for _, pet := range pets {
				if !yield(pet, nil) {
					return
				}
			}
			if !more {
				return
			}
			next.After = &pets[len(pets)-1].ID
		}
	}
}

// nextPage matches a link to the next page (RFC 8288). Its target is not used: the
// next page starts after the last pet of this one.
var nextPage = regexp.MustCompile(`>[^<]*;\s*(?i:rel)\s*=\s*(?i:next\b|"([^"]*\s)?next[\s"])`)

// listPage returns one page and whether there are more. A page with a link to the
// next one must have further pets, so that no server can make All loop forever.
func listPage(ctx context.Context, c ClientWithResponsesInterface, params ListPetsParams, editors []RequestEditorFn) (pets Pets, more bool, err error) {
	response, err := c.ListPetsWithResponse(ctx, &params, editors...)
	if err != nil {
		return nil, false, err
	}
	if err := Check(response.JSON200, response.HTTPResponse, response.Body); err != nil {
		return nil, false, err
	}
	pets = *response.JSON200
	if !nextPage.MatchString(strings.Join(response.HTTPResponse.Header.Values("Link"), ", ")) {
		return pets, false, nil
	}
	if len(pets) == 0 || params.After != nil && pets[len(pets)-1].ID <= *params.After {
		return nil, false, errors.New("a page has a link to the next one, but no further pets")
	}
	return pets, true, nil
}
