package edge

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/labstack/echo/v4"
)

// Operations are the generated code of a document around its methods. Generated
// makes them.
type Operations struct {
	// register adds the routes to a Router of the generated code, which New's must be.
	register func(router any, base string, around func(call) call) error
}

// call is a call of a method, as the generated code makes it.
type call = func(c echo.Context, request any) (response any, err error)

// Generated takes the two functions that oapi-codegen generates for a document,
// and returns the function that makes Operations of its methods:
//
//	edge.Generated(api.NewStrictHandler, api.RegisterHandlersWithBaseURL)(methods)
func Generated[Methods, Handler, Router any, F ~func(echo.Context, any) (any, error), M ~func(F, string) F](
	newHandler func(Methods, []M) Handler, register func(Router, Handler, string),
) func(Methods) Operations {
	return func(methods Methods) Operations {
		return Operations{func(router any, base string, around func(call) call) error {
			if v := reflect.ValueOf(methods); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
				return errors.New("edge.Service: Operations have no methods: what Generated returned was called with nil")
			}
			to, ok := router.(Router)
			if !ok {
				return fmt.Errorf("the generated code registers at %v, which this edge is not: generate it with echo-server: true", reflect.TypeFor[Router]())
			}
			middleware := M(func(next F, _ string) F { return F(around(call(next))) })
			register(to, newHandler(methods, []M{middleware}), base)
			return nil
		}}
	}
}
