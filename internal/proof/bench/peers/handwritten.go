package peers

import (
	"io"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"
)

type problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Status  int    `json:"status"`
}

func refuse(c echo.Context, message string) error {
	return c.JSON(http.StatusBadRequest, problem{"invalid", message, http.StatusBadRequest})
}

func validStatus(s string) bool { return s == "available" || s == "pending" || s == "sold" }

// newHandwritten returns the Echo server that a careful developer writes by hand.
func newHandwritten(io.Writer) (http.Handler, error) {
	e := echo.New()
	handleByHand(e)
	return e, nil
}

// handleByHand registers the three operations with e.
func handleByHand(e *echo.Echo) {
	s := newCatalogue()
	e.GET("/v1/pets", func(c echo.Context) error {
		limit := 20
		if text := c.QueryParam("limit"); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 || n > 100 {
				return refuse(c, "limit must be between 1 and 100")
			}
			limit = n
		}
		status := c.QueryParam("status")
		if status != "" && !validStatus(status) {
			return refuse(c, "status must be one of available, pending, sold")
		}
		return c.JSON(http.StatusOK, s.list(status, limit))
	})
	e.POST("/v1/pets", func(c echo.Context) error {
		var body struct {
			Name       *string `json:"name"`
			CategoryID *int64  `json:"categoryId"`
			Status     *string `json:"status"`
		}
		if err := c.Bind(&body); err != nil {
			return refuse(c, "the body is not valid")
		}
		if body.Name == nil || body.CategoryID == nil {
			return refuse(c, "name and categoryId are required")
		}
		p := pet{Name: *body.Name, CategoryID: *body.CategoryID, Status: "available"}
		if body.Status != nil {
			if !validStatus(*body.Status) {
				return refuse(c, "status must be one of available, pending, sold")
			}
			p.Status = *body.Status
		}
		p = s.add(p)
		c.Response().Header().Set("Location", "/v1/pets/"+strconv.FormatInt(p.ID, 10))
		return c.JSON(http.StatusCreated, p)
	})
	e.GET("/v1/pets/:petId", func(c echo.Context) error {
		id, err := strconv.ParseInt(c.Param("petId"), 10, 64)
		if err != nil {
			return refuse(c, "petId must be an integer")
		}
		p, ok := s.get(id)
		if !ok {
			return c.JSON(http.StatusNotFound, problem{"not_found", "there is no such pet", http.StatusNotFound})
		}
		return c.JSON(http.StatusOK, p)
	})
}
