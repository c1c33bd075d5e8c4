package served_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/petstore/internal/proof/petstoretest"

	"example.com/petstore/internal/edge"
	"example.com/petstore/internal/pets"
)

var testTime = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

func TestEveryRequestIsOneLineOfTheLog(t *testing.T) {
	s := start(t)
	s.get(t, petsPath+"?limit=5", "X-Request-Id: mine")
	s.send(t, "GET", petsPath+"/1", "")
	s.send(t, "DELETE", petsPath, "", withKey)
	s.get(t, "/nothing")
	for i, want := range []map[string]any{
		{"msg": "request", "level": "INFO", "method": "GET", "route": "/v1/pets", "path": "/v1/pets", "status": 200.0, "request_id": "mine"},
		{"method": "GET", "route": "/v1/pets/:petId", "path": "/v1/pets/1", "status": 401.0, "level": "INFO"},
		{"method": "DELETE", "status": 405.0, "level": "INFO"},
		{"method": "GET", "path": "/nothing", "status": 404.0, "level": "INFO"},
	} {
		line := s.log.wantLines(t, 4)[i]
		for name, value := range want {
			if line[name] != value {
				t.Errorf("line %d, %s: got %v, want %v", i+1, name, line[name], value)
			}
		}
	}
	line := s.log.wantLines(t, 4)[0]
	if id, _ := line["key"].(string); !strings.HasPrefix(id, "fixed-") {
		t.Errorf("key of the first line: got %q, want the ID of the fixed key", id)
	}
	if n, _ := line["bytes"].(float64); n < 2 {
		t.Errorf("bytes of the first line: got %v, want those of the body", line["bytes"])
	}
}

func TestNoKeyReachesTheLogWhereverAClientPutsIt(t *testing.T) {
	s := start(t)
	_, token, err := pets.NewKey("test", testTime, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.get(t, petsPath+"?access_token="+token)
	s.get(t, "/v1/"+token)
	s.get(t, "/"+token+"/x")
	s.get(t, petsPath+"/"+token)
	s.get(t, petsPath, "X-Request-Id: "+token)
	s.get(t, petsPath, "X-Request-Id: x."+token)
	s.send(t, "GET", petsPath, "", "Authorization: "+token)
	s.send(t, "GET", petsPath, "", "Authorization: Bearer "+token, "Referer: http://x/"+token, "User-Agent: "+token, "Cookie: "+token)
	s.send(t, "POST", petsPath, `{"name":"`+token+`","categoryId":"`+token+`"}`, withKey, isJSON)
	s.get(t, "/"+key, "X-Request-Id: "+key)
	s.log.wantLines(t, 10)
	if secret := token[len("psk_12345678_"):]; strings.Contains(s.log.String(), secret) {
		t.Errorf("log: got the secret of a key in it, want none:\n%s", s.log.String())
	}
}

func TestTheProbesTellWhetherTheServiceRunsAndWhetherItCanServe(t *testing.T) {
	s := start(t)
	for path, want := range map[string]string{"/livez": "{\"status\":\"alive\"}\n", "/readyz": "{\"status\":\"ready\"}\n"} {
		resp := s.send(t, "GET", path, "")
		resp.wants(t, 200, "", "")
		if string(resp.body) != want || resp.Header.Get("Content-Type") != "application/json" || resp.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: got %s %v, want %s as JSON that is not kept", path, resp.body, resp.Header, want)
		}
	}
	s = start(t, func(c *petstoretest.Config) { c.Ready = func(context.Context) error { return errors.New(inside) } })
	s.send(t, "GET", "/readyz", "").wants(t, 503, "unavailable", "try again later")
	s.send(t, "HEAD", "/readyz", "").wants(t, 503, "", "")
	s.send(t, "GET", "/livez", "").wants(t, 200, "", "")
}

func TestAProbeHearsTheReasonInOneWordAndTheLogAllOfIt(t *testing.T) {
	s := start(t, func(c *petstoretest.Config) {
		c.Ready = func(context.Context) error { return &edge.NotReady{Reason: "store", Err: errors.New(inside)} }
	})
	s.send(t, "GET", "/readyz", "").wants(t, 503, "unavailable", "not ready: store; try again later")
	if line := s.log.wantLines(t, 1)[0]; line["reason"] != "store" || line["error"] != inside {
		t.Errorf("log: got reason %v, error %v, want store and %s", line["reason"], line["error"], inside)
	}
}

func TestAReadinessCheckThatHangsIsBounded(t *testing.T) {
	s := start(t, func(c *petstoretest.Config) {
		c.Ready = func(ctx context.Context) error {
			if _, ok := ctx.Deadline(); !ok {
				return nil // which sends 200, and fails the test
			}
			return context.DeadlineExceeded
		}
	})
	s.send(t, "GET", "/readyz", "").wants(t, 503, "unavailable", "")
}

func TestWhatAClientSendsFillsNoLog(t *testing.T) {
	s := start(t)
	s.get(t, "/"+strings.Repeat("%01", 10_000))
	s.send(t, strings.Repeat("M", 10_000), petsPath, "")
	s.log.wantLines(t, 2)
	if n := len(s.log.String()); n > 5000 {
		t.Errorf("two lines: got %d bytes, want less than 5000", n)
	}
}

func TestAProbeThatSucceedsIsLoggedForDebuggingOnly(t *testing.T) {
	s := start(t)
	s.send(t, "GET", "/livez", "")
	s.send(t, "GET", "/readyz", "")
	s.get(t, petsPath)
	for i, want := range []string{"DEBUG", "DEBUG", "INFO"} {
		if got := s.log.wantLines(t, 3)[i]["level"]; got != want {
			t.Errorf("line %d: got level %v, want %s", i+1, got, want)
		}
	}
}

// A client that leaves is no fault of the service.
func TestAClientThatLeavesIsA499AtInfo(t *testing.T) {
	asked := make(chan struct{})
	s := start(t, func(c *petstoretest.Config) {
		c.Authenticate = func(ctx context.Context, _ string) (edge.Identity, error) {
			close(asked)
			<-ctx.Done()
			return edge.Identity{}, &pets.Error{Kind: pets.Unavailable, Message: "gave up", Err: ctx.Err()}
		}
	})
	conn := s.dial(t)
	if _, err := conn.Write([]byte("GET /v1/pets HTTP/1.1\r\nHost: petstore\r\n" + withKey + "\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	line := s.log.wantLines(t, 1)[0]
	if line["status"] != 499.0 || line["level"] != "INFO" {
		t.Errorf("got %v, want status 499 at INFO", line)
	}
}
