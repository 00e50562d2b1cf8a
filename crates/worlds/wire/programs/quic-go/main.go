// Transfers a file over quic-go with `hq-interop`. Has the command line of Ackclock's other
// programs.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
)

// Flow control credit in bytes, large enough that only the network limits a transfer.
const credit = 64 << 20

const alpn = "hq-interop"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Runs `PROGRAM client|server --name value ...`.
func run() error {
	if len(os.Args) < 2 || len(os.Args)%2 != 0 {
		return errors.New("the first argument must be client or server, followed by names and values")
	}
	arguments := map[string]string{}
	for i := 2; i < len(os.Args); i += 2 {
		arguments[strings.TrimPrefix(os.Args[i], "--")] = os.Args[i+1]
	}
	if name := arguments["controller"]; name != "new-reno" {
		return fmt.Errorf("quic-go has no %s", name)
	}
	config, err := transport(arguments)
	if err != nil {
		return err
	}
	keys, err := keyLog()
	if err != nil {
		return err
	}
	switch os.Args[1] {
	case "server":
		return serve(arguments, config, keys)
	case "client":
		return fetch(arguments, config, keys)
	}
	return errors.New("the first argument must be client or server")
}

func transport(arguments map[string]string) (*quic.Config, error) {
	datagram, err := strconv.ParseUint(arguments["datagram"], 10, 16)
	if err != nil {
		return nil, err
	}
	return &quic.Config{
		InitialPacketSize:              uint16(datagram),
		DisablePathMTUDiscovery:        true,
		InitialStreamReceiveWindow:     credit,
		MaxStreamReceiveWindow:         credit,
		InitialConnectionReceiveWindow: credit,
		MaxConnectionReceiveWindow:     credit,
		MaxIdleTimeout:                 time.Minute,
		// Writes qlog to the folder QLOGDIR, if that variable is set.
		Tracer: qlog.DefaultConnectionTracer,
	}, nil
}

// Opens the file for TLS secrets, if SSLKEYLOGFILE is set.
func keyLog() (io.Writer, error) {
	name := os.Getenv("SSLKEYLOGFILE")
	if name == "" {
		return nil, nil
	}
	return os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
}

func serve(arguments map[string]string, config *quic.Config, keys io.Writer) error {
	certificate, err := tls.LoadX509KeyPair(arguments["cert"], arguments["key"])
	if err != nil {
		return err
	}
	tlsConfig := &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{alpn}, KeyLogWriter: keys}
	listener, err := quic.ListenAddr(net.JoinHostPort(arguments["address"], arguments["port"]), tlsConfig, config)
	if err != nil {
		return err
	}
	for {
		connection, err := listener.Accept(context.Background())
		if err != nil {
			return err
		}
		go func() {
			if err := answer(connection, arguments["root"]); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}()
	}
}

// Answers one request of a connection. The peer closes it.
func answer(connection *quic.Conn, root string) error {
	stream, err := connection.AcceptStream(context.Background())
	if err != nil {
		return err
	}
	request, err := io.ReadAll(io.LimitReader(stream, 4096))
	if err != nil {
		return err
	}
	path, found := strings.CutPrefix(strings.TrimSpace(string(request)), "GET /")
	// Serves only files below the root.
	if !found || !filepath.IsLocal(path) {
		return errors.New("not an HTTP/0.9 request, or the path is outside of the root")
	}
	file, err := os.Open(filepath.Join(root, path))
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := io.Copy(stream, bufio.NewReaderSize(file, 64<<10)); err != nil {
		return err
	}
	return stream.Close()
}

func fetch(arguments map[string]string, config *quic.Config, keys io.Writer) error {
	pem, err := os.ReadFile(arguments["ca"])
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return errors.New("no certificate in --ca")
	}
	tlsConfig := &tls.Config{RootCAs: roots, ServerName: arguments["name"], NextProtos: []string{alpn}, KeyLogWriter: keys}
	file, err := os.Create(arguments["out"])
	if err != nil {
		return err
	}
	defer file.Close()
	// Waits for the start signal. The end of input means that nobody needs this process any more.
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	connection, err := quic.DialAddr(ctx, net.JoinHostPort(arguments["address"], arguments["port"]), tlsConfig, config)
	if err != nil {
		return err
	}
	stream, err := connection.OpenStreamSync(ctx)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(stream, "GET %s\r\n", arguments["path"]); err != nil {
		return err
	}
	if err := stream.Close(); err != nil {
		return err
	}
	if _, err := io.Copy(file, stream); err != nil {
		return err
	}
	return connection.CloseWithError(0, "done")
}
