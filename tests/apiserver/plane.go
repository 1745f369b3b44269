package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// The components that run as processes of their own, so that they can be killed. etcd does where there are several servers.
const (
	kubeAPIServer     = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	etcd              = "etcd"
)

// The name under which the same program is kubectl.
const kubectl = "kubectl"

// How long a start may take.
const patience = 2 * time.Minute

// How long an end may take that was asked for.
const grace = 15 * time.Second

const mostServers = 9

// A control plane and the files that it lives on.
type plane struct {
	dir        string
	files      *files
	servers    []*server
	etcdPort   int
	embedded   *embed.Etcd
	isKillable bool
	audited    bool
	children   map[string]*child
}

// A kube-apiserver, and a client of its.
type server struct {
	name, audit string
	port        int
	admin       *admin
}

// A process, and what is closed when it has ended.
type child struct {
	command *exec.Cmd
	ended   chan struct{}
}

// `isKillable` says whether etcd is a process of its own.
func newPlane(dir string, servers int, isKillable bool) (*plane, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		return nil, fmt.Errorf("%s is not empty, or not a folder; delete it, or name another", dir)
	}
	ports, err := freePorts(servers + 1)
	if err != nil {
		return nil, err
	}
	etcdPort, ports := ports[0], ports[1:]
	files, err := writeFiles(dir, ports[0])
	if err != nil {
		return nil, err
	}
	if err := linkKubectl(dir); err != nil {
		return nil, err
	}
	p := &plane{dir: dir, files: files, etcdPort: etcdPort, isKillable: isKillable, audited: isKillable, children: map[string]*child{}}
	for number, port := range ports {
		client, err := files.client()
		if err != nil {
			return nil, err
		}
		admin := &admin{client: client, server: fmt.Sprintf("https://127.0.0.1:%d", port)}
		one := &server{name: kubeAPIServer, audit: "audit", port: port, admin: admin}
		if isKillable {
			suffix := fmt.Sprintf("-%d", number+1)
			one.name, one.audit = one.name+suffix, one.audit+suffix
		}
		p.servers = append(p.servers, one)
	}
	return p, nil
}

// Links kubectl into the folder `bin`, for machines that have none.
func linkKubectl(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		return err
	}
	return os.Symlink(self, filepath.Join(bin, kubectl))
}

// Starts everything and waits until the servers answer. The first one fills the store for all.
func (p *plane) start() error {
	if err := p.startEtcd(); err != nil {
		return err
	}
	if err := p.startAPIServer(p.servers[0]); err != nil {
		return err
	}
	if p.isKillable {
		_, err := p.heal()
		return err
	}
	return p.startControllerManager()
}

// What is said when all answer.
func (p *plane) greeting() string {
	words := []string{"ready", p.files.kubeconfig}
	if p.isKillable {
		for _, server := range p.servers {
			words = append(words, strconv.Itoa(server.port))
		}
	}
	return strings.Join(words, " ")
}

func (p *plane) startControllerManager() error {
	return p.startChild(controllerManager, controllerManager,
		"--kubeconfig="+p.files.kubeconfig,
		"--authentication-kubeconfig="+p.files.kubeconfig,
		"--authorization-kubeconfig="+p.files.kubeconfig,
		"--controllers=deployment-controller,replicaset-controller,namespace-controller,garbage-collector-controller",
		"--leader-elect=false",
		"--secure-port=0",
	)
}

// Stops everything.
func (p *plane) stop() {
	for name := range p.children {
		p.kill(name)
	}
	if p.embedded != nil {
		p.embedded.Close()
	}
}

// Starts what was killed or has ended by itself, etcd and servers, waits until all are ready, and returns how many had
// ended.
func (p *plane) heal() (int, error) {
	started := 0
	if p.isKillable && !p.runs(etcd) {
		started++
		if err := p.startEtcd(); err != nil {
			return started, err
		}
	}
	for _, server := range p.servers {
		if !p.runs(server.name) {
			started++
			if err := p.startChild(kubeAPIServer, server.name, p.apiServerArgs(server)...); err != nil {
				return started, err
			}
		}
	}
	for _, server := range p.servers {
		if err := p.awaitReady(server); err != nil {
			// The next attempt starts it anew.
			p.kill(server.name)
			return started, err
		}
	}
	return started, nil
}

// Starts an API server and waits until it is ready.
func (p *plane) startAPIServer(server *server) error {
	if err := p.startChild(kubeAPIServer, server.name, p.apiServerArgs(server)...); err != nil {
		return err
	}
	return p.awaitReady(server)
}

func (p *plane) apiServerArgs(server *server) []string {
	args := []string{
		"--etcd-servers=" + p.etcdURL(),
		"--etcd-compaction-interval=0",
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(server.port),
		"--tls-cert-file=" + p.files.serverCertificate,
		"--tls-private-key-file=" + p.files.serverKey,
		"--client-ca-file=" + p.files.ca,
		"--token-auth-file=" + p.files.tokens,
		"--service-account-issuer=" + issuer,
		"--service-account-key-file=" + p.files.accountKey,
		"--service-account-signing-key-file=" + p.files.accountKey,
		"--service-cluster-ip-range=10.0.0.0/24",
		"--authorization-mode=RBAC",
		"--disable-admission-plugins=ServiceAccount",
		"--endpoint-reconciler-type=none",
		"--max-requests-inflight=0",
		"--max-mutating-requests-inflight=0",
		"--enable-priority-and-fairness=false",
		// Alpha: the parameter shardSelector.
		"--feature-gates=ShardedListAndWatch=true",
	}
	if p.audited {
		args = append(args, p.auditArgs(server)...)
	}
	return args
}

// Logs each write twice: before it is handled, and before its answer is complete. So a server that is killed leaves the
// writes that it had begun.
func (p *plane) auditArgs(server *server) []string {
	return []string{
		"--audit-policy-file=" + p.files.auditPolicy,
		"--audit-log-path=" + p.log(server.audit),
		"--audit-log-mode=blocking",
		// The log is one file.
		"--audit-log-maxsize=0",
	}
}

func (p *plane) awaitReady(server *server) error {
	return p.await(server.name, func() bool {
		return server.admin.ask(http.MethodGet, "/readyz", "") == http.StatusOK
	})
}

// Waits until a component is ready, unless it ends before.
func (p *plane) await(name string, isReady func() bool) error {
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		if isReady() {
			return nil
		}
		if !p.runs(name) {
			return fmt.Errorf("%s has ended; see %s", name, p.log(name))
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("%s does not become ready; see %s", name, p.log(name))
}

// Starts a component under a name.
func (p *plane) startChild(component, name string, args ...string) error {
	if p.runs(name) {
		return fmt.Errorf("%s runs already", name)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(p.log(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.Command(self, append([]string{component}, args...)...)
	command.Dir, command.Stdout, command.Stderr = p.dir, log, log
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := command.Start(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	started := &child{command: command, ended: make(chan struct{})}
	p.children[name] = started
	go func() {
		_ = command.Wait()
		close(started.ended)
	}()
	return nil
}

// Whether a component has been started, and has not ended.
func (p *plane) runs(name string) bool {
	child := p.children[name]
	if child == nil {
		return false
	}
	select {
	case <-child.ended:
		return false
	default:
		return true
	}
}

// Ends a component as a crash would.
func (p *plane) kill(name string) {
	if child := p.children[name]; child != nil {
		_ = child.command.Process.Kill()
		<-child.ended
		delete(p.children, name)
	}
}

// Asks a component to end, and ends it if it does not.
func (p *plane) terminate(name string) {
	if child := p.children[name]; child != nil {
		_ = child.command.Process.Signal(syscall.SIGTERM)
		select {
		case <-child.ended:
		case <-time.After(grace):
		}
		p.kill(name)
	}
}

func (p *plane) log(name string) string {
	return filepath.Join(p.dir, name+".log")
}

// So many ports that are free now, all different.
func freePorts(count int) ([]int, error) {
	ports := make([]int, count)
	for number := range ports {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		ports[number] = listener.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}
