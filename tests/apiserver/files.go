package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

const (
	issuer   = "https://kubernetes.default.svc.cluster.local"
	lifetime = 24 * time.Hour
	// The token of the user "reader", who may do nothing until a test lets them.
	readerToken = "reader-0123456789abcdef"
	// The token of an administrator.
	adminToken = "admin-0123456789abcdef"
	// Each write with its bodies, and no read.
	auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [ResponseStarted]
omitManagedFields: true
rules:
- level: RequestResponse
  verbs: [create, update, patch, delete, deletecollection]
- level: None
`
	// For how long the server takes a token after it has expired.
	leeway = time.Minute
)

// The paths of what a control plane and its clients need.
type files struct {
	ca, serverCertificate, serverKey string
	adminCertificate, adminKey       string
	tokens, accountKey, kubeconfig   string
	auditPolicy                      string
	accounts                         *ecdsa.PrivateKey
}

func writeFiles(dir string, port int) (*files, error) {
	path := func(name string) string { return filepath.Join(dir, name) }
	f := &files{
		ca: path("ca.crt"), serverCertificate: path("server.crt"), serverKey: path("server.key"),
		adminCertificate: path("admin.crt"), adminKey: path("admin.key"),
		tokens: path("tokens.csv"), accountKey: path("accounts.key"), kubeconfig: path("kubeconfig"),
		auditPolicy: path("audit-policy.yaml"),
	}
	if err := f.writeCertificates(); err != nil {
		return nil, err
	}
	tokens := fmt.Sprintf("%s,reader,reader\n%s,admin,admin,\"system:masters\"\n", readerToken, adminToken)
	if err := os.WriteFile(f.tokens, []byte(tokens), 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(f.auditPolicy, []byte(auditPolicy), 0o600); err != nil {
		return nil, err
	}
	return f, f.writeKubeconfig(port)
}

func (f *files) writeCertificates() error {
	caKey, ca, err := certificate(&x509.Certificate{
		Subject: pkix.Name{CommonName: "kubernetes"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}, nil, nil)
	if err != nil {
		return err
	}
	serverKey, server, err := certificate(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		DNSNames:    []string{"kubernetes", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, ca, caKey)
	if err != nil {
		return err
	}
	adminKey, admin, err := certificate(&x509.Certificate{
		Subject:     pkix.Name{CommonName: "kubernetes-admin", Organization: []string{"system:masters"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, ca, caKey)
	if err != nil {
		return err
	}
	f.accounts, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	for path, certificate := range map[string]*x509.Certificate{f.ca: ca, f.serverCertificate: server, f.adminCertificate: admin} {
		if err := writePEM(path, "CERTIFICATE", certificate.Raw); err != nil {
			return err
		}
	}
	for path, key := range map[string]*ecdsa.PrivateKey{f.serverKey: serverKey, f.adminKey: adminKey, f.accountKey: f.accounts} {
		der, err := x509.MarshalECPrivateKey(key)
		if err != nil {
			return err
		}
		if err := writePEM(path, "EC PRIVATE KEY", der); err != nil {
			return err
		}
	}
	return nil
}

// A key and its certificate, signed by `parent`, or by itself.
func certificate(template, parent *x509.Certificate, signer *ecdsa.PrivateKey) (*ecdsa.PrivateKey, *x509.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	if parent == nil {
		parent, signer = template, key
	}
	template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		return nil, nil, err
	}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(lifetime)
	template.KeyUsage |= x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		return nil, nil, err
	}
	signed, err := x509.ParseCertificate(der)
	return key, signed, err
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

// The contexts: "kubernetes-admin@kubernetes" as kubeadm and kind write it, with everything inside; "files" with paths
// relative to the file; "token" of an administrator; "reader", who may do nothing at first.
func (f *files) writeKubeconfig(port int) error {
	inline := func(path string) string {
		data, _ := os.ReadFile(path)
		return base64.StdEncoding.EncodeToString(data)
	}
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
preferences: {}
clusters:
- cluster:
    certificate-authority-data: %s
    server: https://127.0.0.1:%d
  name: kubernetes
- cluster:
    certificate-authority: ca.crt
    server: https://127.0.0.1:%d
    tls-server-name: kubernetes
  name: files
contexts:
- context: {cluster: kubernetes, user: kubernetes-admin}
  name: kubernetes-admin@kubernetes
- context: {cluster: files, user: files, namespace: kube-system}
  name: files
- context: {cluster: kubernetes, user: token}
  name: token
- context: {cluster: kubernetes, user: reader}
  name: reader
current-context: kubernetes-admin@kubernetes
users:
- name: kubernetes-admin
  user:
    client-certificate-data: %s
    client-key-data: %s
- name: files
  user:
    client-certificate: admin.crt
    client-key: admin.key
- name: token
  user:
    token: %s
- name: reader
  user:
    token: %s
`, inline(f.ca), port, port, inline(f.adminCertificate), inline(f.adminKey), adminToken, readerToken)
	return os.WriteFile(f.kubeconfig, []byte(text), 0o600)
}

// A client of the administrator's.
func (f *files) client() (*http.Client, error) {
	pair, err := tls.LoadX509KeyPair(f.adminCertificate, f.adminKey)
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(f.ca)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	config := &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}
	transport := &http.Transport{TLSClientConfig: config}
	return &http.Client{Transport: transport, Timeout: time.Minute}, nil
}

// A service account, as its token names it.
type account struct {
	namespace, name, uid string
}

// A token like those that the server itself gives to pods, but for as short a time as a test likes. The server remembers
// for ten seconds that a token was good.
func (f *files) token(account account, lifetime time.Duration) (string, error) {
	now := time.Now()
	claims := map[string]any{
		"iss": issuer,
		"aud": []string{issuer},
		"sub": fmt.Sprintf("system:serviceaccount:%s:%s", account.namespace, account.name),
		"iat": now.Unix(), "nbf": now.Add(-time.Minute).Unix(), "exp": now.Add(lifetime - leeway).Unix(),
		"kubernetes.io": map[string]any{
			"namespace":      account.namespace,
			"serviceaccount": map[string]string{"name": account.name, "uid": account.uid},
		},
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"ES256","typ":"JWT"}`)) + "." + encode(payload)
	digest := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, f.accounts, digest[:])
	if err != nil {
		return "", err
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return text + "." + encode(signature), nil
}
