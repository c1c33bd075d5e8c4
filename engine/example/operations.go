package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"example.com/clinic/gen/api"
	"example.com/petstore/engine/fault"
)

// operations implements api.StrictServerInterface: one method for each operationId.
type operations struct {
	store  Store
	base   string // of links in responses, such as /v1
	notice atomic.Pointer[[]byte]
}

func (o *operations) GetClinic(context.Context, api.GetClinicRequestObject) (api.GetClinicResponseObject, error) {
	hours := map[string]string{"monday": "8 to 18", "friday": "8 to 12"}
	return api.GetClinic200JSONResponse{Body: api.Clinic{Hours: hours}}, nil
}

func (o *operations) CreatePatient(
	ctx context.Context, r api.CreatePatientRequestObject,
) (api.CreatePatientResponseObject, error) {
	p, err := o.store.CreatePatient(ctx, NewPatient{
		Name: r.Body.Name, Species: string(r.Body.Species),
		Balance: valueOr(r.Body.Balance, 0), Allergies: valueOr(r.Body.Allergies, nil),
	})
	if err != nil {
		return nil, err
	}
	location := fmt.Sprintf("%s/patients/%d", o.base, p.ID)
	return api.CreatePatient201JSONResponse{
		Body: toPatient(&p), Headers: api.CreatePatient201ResponseHeaders{Location: &location},
	}, nil
}

func (o *operations) GetPatient(
	ctx context.Context, r api.GetPatientRequestObject,
) (api.GetPatientResponseObject, error) {
	p, err := o.store.Patient(ctx, r.PatientID)
	if err != nil {
		return nil, err
	}
	return api.GetPatient200JSONResponse{Body: toPatient(&p)}, nil
}

// ListPatients asks for one patient more than the page has, to know whether there is a next page.
func (o *operations) ListPatients(
	ctx context.Context, r api.ListPatientsRequestObject,
) (api.ListPatientsResponseObject, error) {
	limit := valueOr(r.Params.Limit, 20)
	q := Query{Limit: limit + 1, Sort: string(valueOr(r.Params.Sort, api.ListPatientsParamsSortID))}
	for _, species := range valueOr(r.Params.Species, nil) {
		q.Species = append(q.Species, string(species))
	}
	if r.Params.Cursor != nil {
		var err error
		if q.After, err = strconv.ParseInt(*r.Params.Cursor, 36, 64); err != nil {
			return nil, fault.New(fault.InvalidParameter, "cursor must be the next of a page")
		}
	}
	found, err := o.store.Patients(ctx, q)
	if err != nil {
		return nil, err
	}
	page := api.Patients{Items: []api.Patient{}}
	for i := range found[:min(limit, len(found))] {
		page.Items = append(page.Items, toPatient(&found[i]))
	}
	if len(found) > limit {
		page.Next = new(strconv.FormatInt(found[limit-1].ID, 36))
	}
	return api.ListPatients200JSONResponse{Body: page}, nil
}

func (o *operations) RemovePatient(
	ctx context.Context, r api.RemovePatientRequestObject,
) (api.RemovePatientResponseObject, error) {
	if err := o.store.RemovePatient(ctx, r.PatientID); err != nil {
		return nil, err
	}
	return api.RemovePatient204Response{}, nil
}

func (o *operations) Transfer(ctx context.Context, r api.TransferRequestObject) (api.TransferResponseObject, error) {
	if err := o.store.Transfer(ctx, Transfer{r.Body.From, r.Body.To, r.Body.Cents}); err != nil {
		return nil, err
	}
	return api.Transfer204Response{}, nil
}

func (o *operations) CreateVisit(
	ctx context.Context, r api.CreateVisitRequestObject,
) (api.CreateVisitResponseObject, error) {
	v, err := o.store.CreateVisit(ctx, r.PatientID, NewVisit{r.Body.Day, r.Body.Reason, valueOr(r.Body.Note, "")})
	if err != nil {
		return nil, err
	}
	location := fmt.Sprintf("%s/patients/%d/visits/%d", o.base, r.PatientID, v.ID)
	stored := toVisit(&v)
	return api.CreateVisit201JSONResponse{
		Body: stored.Body, Headers: api.CreateVisit201ResponseHeaders{ETag: stored.Headers.ETag, Location: &location},
	}, nil
}

func (o *operations) GetVisit(ctx context.Context, r api.GetVisitRequestObject) (api.GetVisitResponseObject, error) {
	v, err := o.store.Visit(ctx, r.PatientID, r.VisitID)
	if err != nil {
		return nil, err
	}
	return api.GetVisit200JSONResponse{VisitJSONResponse: toVisit(&v)}, nil
}

// ChangeVisit passes the store a function, which it calls in its transaction.
func (o *operations) ChangeVisit(
	ctx context.Context, r api.ChangeVisitRequestObject,
) (api.ChangeVisitResponseObject, error) {
	change := func(v *Visit) error {
		if tag := r.Params.IfMatch; tag != nil && *tag != etag(v) {
			return ErrVisitChanged
		}
		v.Day, v.Reason = valueOr(r.Body.Day, v.Day), valueOr(r.Body.Reason, v.Reason)
		if r.Body.Note.IsSpecified() {
			v.Note, _ = r.Body.Note.Get() // "" for null
		}
		return nil
	}
	v, err := o.store.ChangeVisit(ctx, r.PatientID, r.VisitID, change)
	if err != nil {
		return nil, err
	}
	return api.ChangeVisit200JSONResponse{VisitJSONResponse: toVisit(&v)}, nil
}

func (o *operations) RemoveVisit(
	ctx context.Context, r api.RemoveVisitRequestObject,
) (api.RemoveVisitResponseObject, error) {
	if err := o.store.RemoveVisit(ctx, r.PatientID, r.VisitID); err != nil {
		return nil, err
	}
	return api.RemoveVisit204Response{}, nil
}

func (o *operations) Assess(_ context.Context, r api.AssessRequestObject) (api.AssessResponseObject, error) {
	finding, err := r.Body.ValueByDiscriminator()
	if err != nil {
		return nil, err
	}
	a := api.Assessment{Unusual: []string{}}
	switch f := finding.(type) {
	case api.Blood:
		a.TakenAt = f.TakenAt
		for name, value := range f.Values {
			if value > 100 {
				a.Unusual = append(a.Unusual, name)
			}
		}
		slices.Sort(a.Unusual)
	case api.Scan:
		a.TakenAt, a.Unusual = f.TakenAt, f.Regions
	}
	return api.Assess200JSONResponse{Body: a}, nil
}

// PutNotice does not get the media type of a picture: the edge passes the range image/*.
func (o *operations) PutNotice(_ context.Context, r api.PutNoticeRequestObject) (api.PutNoticeResponseObject, error) {
	var notice []byte
	if r.TextBody != nil {
		notice = []byte(*r.TextBody)
	} else {
		var err error
		if notice, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		if !isPicture(notice) {
			return nil, fault.New(fault.InvalidBody, "the body must be a picture")
		}
	}
	o.notice.Store(&notice)
	return api.PutNotice204Response{}, nil
}

func (o *operations) GetNotice(context.Context, api.GetNoticeRequestObject) (api.GetNoticeResponseObject, error) {
	notice := o.notice.Load()
	switch {
	case notice == nil:
		return nil, fault.New(fault.NotFound, "there is no notice")
	case isPicture(*notice):
		return api.GetNotice200ImageResponse{
			Body:        strings.NewReader(string(*notice)),
			ContentType: http.DetectContentType(*notice), ContentLength: int64(len(*notice)),
		}, nil
	}
	return api.GetNotice200TextResponse{Body: string(*notice)}, nil
}

func isPicture(data []byte) bool { return strings.HasPrefix(http.DetectContentType(data), "image/") }

// toPatient does not compile if the document adds a property.
func toPatient(p *Patient) api.Patient {
	var allergies *[]string
	if p.Allergies != nil {
		allergies = &p.Allergies
	}
	return api.Patient(struct {
		Name      string
		Balance   *int64
		Allergies *[]string
		ID        int64
		Species   api.Species
	}{p.Name, &p.Balance, allergies, p.ID, api.Species(p.Species)})
}

func toVisit(v *Visit) (response api.VisitJSONResponse) {
	response.Body = api.Visit{ID: v.ID, Day: v.Day, Reason: v.Reason}
	if v.Note != "" {
		response.Body.Note = &v.Note
	}
	response.Headers.ETag = new(etag(v))
	return response
}

func etag(v *Visit) string {
	text, _ := json.Marshal(v)
	sum := sha256.Sum256(text)
	return fmt.Sprintf(`"%x"`, sum[:8])
}

// valueOr returns *p, or otherwise if p is nil.
func valueOr[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
