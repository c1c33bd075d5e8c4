package program

import (
	"log/slog"
	"net"
)

// The states that systemd understands (sd_notify(3)).
const (
	notifyReady    = "READY=1"
	notifyStopping = "STOPPING=1"
)

// notify tells systemd the state of the server, where systemd has asked for it by
// NOTIFY_SOCKET (Type=notify). A failure is logged and changes nothing else.
func notify(socket string, logger *slog.Logger, state string) {
	if socket == "" {
		return
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err == nil {
		_, err = conn.Write([]byte(state))
		_ = conn.Close() // nothing is buffered
	}
	if err != nil {
		logger.Warn("systemd was not told the state of the server", "state", state, "error", err)
	}
}
