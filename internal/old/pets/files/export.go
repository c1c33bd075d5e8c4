package files

import (
	"context"
	"io"

	"example.com/petstore/internal/old/pets"
)

// exportPage is how many pets are read at a time.
const exportPage = 1000

// Export writes all pets of the store in that format, and calls step for each; json
// encodes a pet for NDJSON.
// Every pet that was acknowledged before is written once; some of the pets that are
// added meanwhile may be written too.
func Export(ctx context.Context, st pets.PetStore, to io.Writer, format Format, json Encode, step func()) error {
	out, err := NewWriter(to, format, json)
	if err != nil {
		return err
	}
	for q := (pets.Query{Limit: exportPage}); ; {
		page, err := st.Pets(ctx, q)
		if err != nil {
			return err
		}
		for _, pet := range page.Pets {
			if err := out.Write(pet); err != nil {
				return err
			}
			q.After = pet.ID
			step()
		}
		if !page.More {
			return out.Flush()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}
