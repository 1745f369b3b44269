/// What `--help` prints.
pub(crate) const HELP: &str = "\
listwatch: Kubernetes informers, live and over recordings of what they saw

Usage: listwatch watch RESOURCE [options]
       listwatch record RESOURCE -o FILE [options]
       listwatch replay FILE [options]

watch follows a resource of a cluster and tells every change, until Ctrl-C. RESOURCE is the
plural with its version, `v1/pods` or `apps/v1/deployments`, or a name that kubectl knows too, such
as `pods`, `deploy` or `certificates.cert-manager.io`. record does the same and writes down
what goes over the wire. replay plays FILE through the whole machine (reflector, queue, cache,
work queue and workers) and prints what a controller would have seen; FILE is a capture that
record wrote, a saved list (`kubectl get -o json`), or a watch log (`kubectl get --watch
--output-watch-events -o json`), gzipped or not.

Options of all:
  --type raw|meta|value  what objects are kept as: their JSON text, their metadata alone (a server
                         is not asked for more), or parsed JSON [raw]
  --print events|store   print every notification and then the cache (of watch, as JSON only), or
                         the cache alone [watch: events; record: nothing; replay: a summary]
  --format table|json    print for people, or one JSON object a line [table]
  -h, --help             print this
  -V, --version          print the version

Options of watch and record:
  --context CONTEXT      the context of the kubeconfig [its current one]
  --kubeconfig FILE      the kubeconfig [$KUBECONFIG or ~/.kube/config; inside a pod that has none,
                         its service account]
  --server URL           no kubeconfig, but this server, such as http://127.0.0.1:8001
  -n, --namespace NS     one namespace [all of them, as with -A]
  -l, --selector S       only objects whose labels match, such as `app=web`
  --field-selector S     only objects whose fields match, such as `spec.nodeName=n1`
  --no-watch-list        begin with a list, even if the server could stream the state
  --keep-trying          go on even if the server refuses from the beginning
  --for TIME             end after this time, such as `90s` or `10m`
  -o, --output FILE      record: the file to write, compressed if it ends in .gz; a new one, and
                         not `-`: a recording never goes to standard output
  --include-secrets      record: Secrets too, with all that is in them

Options of replay:
  --speed 1|N|max        as fast as it was recorded, N times as fast, or without waiting [max]
  --index INDEX          index the cache: `namespace`, `label:NAME` or `owner`; may be repeated
  --workers N            how many workers take keys from the work queue [2]
  --order arrival|key    tell changes as they came, or key by key [arrival]
  --chunk BYTES          let at most BYTES of an answer come at a time
  --skip-bad-lines       count lines of FILE that are broken, and go on behind them

The summary of replay counts requests of the recording (answered; refused, as recorded or because it
has no such request; left over, because nobody asked), events by kind (vanished: deleted unseen,
client-go's DeletedFinalStateUnknown), and what made the reflector list or watch again. With
--print it goes to standard error, where that is a terminal.

Exit status: 0 when FILE was played to its end, or the cluster followed until the end was asked for;
1 when that could not be, or nobody read what was printed; 2 for wrong usage. Ctrl-C, SIGTERM,
SIGHUP (not under nohup) and the end of TIME end watch and record with all that they tell at the
end; a second signal ends them at once. A kubeconfig may be a pipe; FILE of replay may not.
";
