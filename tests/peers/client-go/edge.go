package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// edge is an API server of the pods of one node, over TLS with client certificates, until its input ends. It writes the
// kubeconfig of an agent, and prints a line when it serves. After each line of its input one more pod has changed, and
// every connection is cut: an agent knows of the change once it is connected again.
func edge(template, count, node, kubeconfig string) error {
	text, unread := os.ReadFile(template)
	listed, uncounted := strconv.Atoi(count)
	if err := errors.Join(unread, uncounted); err != nil {
		return err
	}
	pods, err := newPods(string(text), listed, 0)
	if err != nil {
		return err
	}
	authority, server, agent, err := certificates()
	if err != nil {
		return err
	}
	site := httptest.NewUnstartedServer(&edgeSite{pods: pods, selector: "spec.nodeName=" + node})
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority)
	site.TLS = &tls.Config{
		Certificates: []tls.Certificate{server},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    trusted,
	}
	site.EnableHTTP2 = true
	site.StartTLS()
	config := api.NewConfig()
	config.Clusters["edge"] = &api.Cluster{Server: site.URL, CertificateAuthorityData: authority}
	config.AuthInfos["agent"] = &api.AuthInfo{ClientCertificateData: agent[0], ClientKeyData: agent[1]}
	config.Contexts["edge"] = &api.Context{Cluster: "edge", AuthInfo: "agent"}
	config.CurrentContext = "edge"
	if err := clientcmd.WriteToFile(*config, kubeconfig); err != nil {
		return err
	}
	fmt.Println("ready")
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		site.Config.Handler.(*edgeSite).change()
		site.CloseClientConnections()
		fmt.Println("cut")
	}
	return input.Err()
}

// edgeSite serves the pods of one node. Change number c is of pod c, and makes the next version.
type edgeSite struct {
	pods     *pods
	selector string
	mutex    sync.Mutex
	changes  int
}

func (e *edgeSite) change() {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.changes++
}

// state is the version of each pod, that of the list, and how many pods have changed.
func (e *edgeSite) state() ([]int, int, int) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	versions := append([]int(nil), e.pods.versions...)
	for change := range e.changes {
		versions[change] = len(versions) + change + 1
	}
	return versions, len(versions) + e.changes, e.changes
}

func (e *edgeSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if r.URL.Path != "/api/v1/pods" || query.Get("fieldSelector") != e.selector {
		http.Error(w, "not of this node", http.StatusForbidden)
		return
	}
	buffer := bufio.NewWriter(w)
	contentType, out := "application/json", encoding(asJSON{buffer, e.pods})
	if strings.Contains(r.Header.Get("Accept"), "protobuf") {
		contentType, out = "application/vnd.kubernetes.protobuf", newProtobuf(buffer, e.pods)
	}
	versions, version, changes := e.state()
	if watch, _ := strconv.ParseBool(query.Get("watch")); !watch {
		w.Header().Set("Content-Type", contentType)
		out.list(versions, 0, len(versions), version)
		buffer.Flush()
		return
	}
	w.Header().Set("Content-Type", contentType+";stream=watch")
	if query.Get("sendInitialEvents") == "true" {
		for n := range versions {
			out.event("ADDED", n, versions[n])
		}
		out.bookmark(version)
	} else if since, _ := strconv.Atoi(query.Get("resourceVersion")); since > 0 {
		for change := max(since-len(versions), 0); change < changes; change++ {
			out.event("MODIFIED", change, versions[change])
		}
	}
	buffer.Flush()
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// certificates are an authority, the certificate of a server on loopback, and certificate and key of an agent.
func certificates() (authority []byte, server tls.Certificate, agent [2][]byte, err error) {
	template := func(name string) *x509.Certificate {
		serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62))
		return &x509.Certificate{
			SerialNumber: serial,
			Subject:      pkix.Name{CommonName: name},
			NotBefore:    time.Now().Add(-time.Hour),
			NotAfter:     time.Now().Add(24 * time.Hour),
			KeyUsage:     x509.KeyUsageDigitalSignature,
		}
	}
	root, rootKey := template("authority"), newKey()
	root.IsCA, root.BasicConstraintsValid, root.KeyUsage = true, true, x509.KeyUsageCertSign
	issue := func(certificate *x509.Certificate) ([]byte, []byte, error) {
		key := newKey()
		der, unsigned := x509.CreateCertificate(rand.Reader, certificate, root, &key.PublicKey, rootKey)
		keyDER, unmarshalled := x509.MarshalPKCS8PrivateKey(key)
		block := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
		return block("CERTIFICATE", der), block("PRIVATE KEY", keyDER), errors.Join(unsigned, unmarshalled)
	}
	der, unsigned := x509.CreateCertificate(rand.Reader, root, root, &rootKey.PublicKey, rootKey)
	authority = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	site := template("server")
	site.IPAddresses, site.ExtKeyUsage = []net.IP{net.IPv4(127, 0, 0, 1)}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	certificate, key, unissued := issue(site)
	server, unpaired := tls.X509KeyPair(certificate, key)
	client := template("agent")
	client.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	var refused error
	agent[0], agent[1], refused = issue(client)
	return authority, server, agent, errors.Join(unsigned, unissued, unpaired, refused)
}

func newKey() *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return key
}
