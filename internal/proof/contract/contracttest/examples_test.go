package contracttest

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"
)

func TestEveryExampleOfAnErrorIsOneTheServiceCouldSend(t *testing.T) {
	j := NewJudge(t)
	for path, item := range j.Document().Paths.Map() {
		for method, o := range item.Operations() {
			for status, r := range o.Responses.Map() {
				code, err := strconv.Atoi(status)
				if err != nil || code < 400 {
					continue
				}
				m := r.Value.Content["application/json"]
				examples := []any{m.Example}
				for _, e := range m.Examples {
					examples = append(examples, e.Value.Value)
				}
				for _, e := range examples {
					if e == nil {
						continue
					}
					response := &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}}
					fields, _ := e.(map[string]any)
					body := fmt.Sprintf(`{"code":%q,"message":%q,"status":%v}`, fields["code"], fields["message"], fields["status"])
					for _, err := range j.errorBody(response, []byte(body)) {
						t.Errorf("%s %s %s: %v", method, path, status, err)
					}
				}
			}
		}
	}
}
