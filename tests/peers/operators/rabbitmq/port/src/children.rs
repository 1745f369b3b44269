//! The children of a RabbitmqCluster, as they are to be.

use crate::conf::{Conf, bytes_of};
use crate::kinds::{Map, RabbitmqCluster};
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE};
use listwatch::Found;
use serde_json::{Value, json};

const PLUGINS: [&str; 3] = ["rabbitmq_peer_discovery_k8s", "rabbitmq_prometheus", "rabbitmq_management"];

/// The ports by plugins: the name of the port, its number, and the protocol of the application.
const PLUGIN_PORTS: [(&str, &str, u16, &str); 4] = [
    ("rabbitmq_mqtt", "mqtt", 1883, "mqtt"),
    ("rabbitmq_web_mqtt", "web-mqtt", 15675, "http"),
    ("rabbitmq_stomp", "stomp", 61613, "stomp.github.io/stomp"),
    ("rabbitmq_web_stomp", "web-stomp", 15674, "http"),
];
const STREAM: (&str, u16, &str) = ("stream", 5552, "rabbitmq.com/stream");

/// The cluster whose children these are.
pub struct Children<'a> {
    pub cluster: &'a Found<RabbitmqCluster>,
}

impl Children<'_> {
    fn name(&self) -> &str {
        self.cluster.meta().name()
    }

    fn namespace(&self) -> &str {
        self.cluster.meta().namespace().unwrap_or_default()
    }

    /// The name of a child, such as `cluster-nodes`.
    pub fn child(&self, suffix: &str) -> String {
        match suffix {
            "" => self.name().to_owned(),
            suffix => format!("{}-{suffix}", self.name()),
        }
    }

    fn own_labels(&self) -> Map {
        let labels = [("name", self.name()), ("component", "rabbitmq"), ("part-of", "rabbitmq")];
        labels.map(|(name, value)| (format!("app.kubernetes.io/{name}"), value.to_owned())).into()
    }

    pub fn labels(&self) -> Map {
        let mut labels = self.own_labels();
        let all = self.cluster.metadata.labels.iter().flatten();
        labels.extend(
            all.filter(|(name, _)| !name.starts_with("app.kubernetes.io")).map(|(k, v)| (k.clone(), v.clone())),
        );
        labels
    }

    fn annotations(&self) -> Map {
        let all = self.cluster.metadata.annotations.iter().flatten();
        let is_kubernetes = |name: &str| name.contains("kubernetes.io") || name.contains("k8s.io");
        all.filter(|(name, _)| !is_kubernetes(name)).map(|(k, v)| (k.clone(), v.clone())).collect()
    }

    fn selector(&self) -> Value {
        json!({ "app.kubernetes.io/name": self.name() })
    }

    fn metadata(&self) -> Value {
        json!({ "labels": self.labels(), "annotations": self.annotations() })
    }

    fn ip_family_policy(&self) -> Option<&str> {
        self.cluster.spec.service.as_ref()?.ip_family_policy.as_deref()
    }

    pub fn headless_service(&self) -> Value {
        let ports = [("epmd", 4369), ("cluster-rpc", 25672)];
        let ports =
            ports.map(|(name, port)| json!({ "name": name, "protocol": "TCP", "port": port, "targetPort": port }));
        json!({
            "metadata": self.metadata(),
            "spec": {
                "type": "ClusterIP",
                "clusterIP": "None",
                "sessionAffinity": "None",
                "selector": self.selector(),
                "ports": ports,
                "publishNotReadyAddresses": true,
                "ipFamilyPolicy": self.ip_family_policy(),
            },
        })
    }

    pub fn service(&self) -> Value {
        let spec = self.cluster.spec.service.as_ref();
        let mut annotations = self.annotations();
        annotations.extend(spec.and_then(|spec| spec.annotations.clone()).into_iter().flatten());
        let base =
            [("amqp", 5672, "amqp"), ("management", 15672, "http"), ("prometheus", 15692, "prometheus.io/metrics")];
        let plugins = PLUGIN_PORTS.iter().filter(|(plugin, ..)| self.cluster.has_plugin(plugin));
        let plugins = plugins.map(|(_, name, port, protocol)| (*name, *port, *protocol));
        let stream = self.cluster.needs_stream().then_some(STREAM);
        let ports = base.into_iter().chain(plugins).chain(stream).map(|(name, port, protocol)| {
            json!({ "name": name, "protocol": "TCP", "port": port, "targetPort": port, "appProtocol": protocol })
        });
        json!({
            "metadata": { "labels": self.labels(), "annotations": annotations },
            "spec": {
                "type": spec.and_then(|spec| spec.type_.as_deref()).unwrap_or("ClusterIP"),
                "selector": self.selector(),
                "ports": ports.collect::<Vec<_>>(),
                "ipFamilyPolicy": self.ip_family_policy(),
            },
        })
    }

    pub fn erlang_cookie(&self) -> Value {
        let data = Map::from([(".erlang.cookie".to_owned(), BASE64_STANDARD.encode(random_text()))]);
        json!({ "metadata": self.metadata(), "type": "Opaque", "data": data })
    }

    pub fn default_user(&self) -> Value {
        let (drawn, password) = (random_text(), random_text());
        let username = format!("default_user_{}", &drawn[..drawn.len() - "default_user_".len()]);
        let mut conf = Conf::default();
        conf.set("default_user", &username);
        conf.set("default_pass", &password);
        let data = [
            ("username", username),
            ("password", password),
            ("default_user.conf", conf.to_string()),
            ("provider", "rabbitmq".to_owned()),
            ("type", "rabbitmq".to_owned()),
            ("host", format!("{}.{}.svc", self.name(), self.namespace())),
        ];
        let data: Map = data.map(|(name, text)| (name.to_owned(), BASE64_STANDARD.encode(text))).into();
        let mut secret = json!({ "metadata": self.metadata(), "type": "Opaque", "data": data });
        self.set_ports(&mut secret);
        secret
    }

    /// Gives a Secret the labels and annotations of the cluster. Other annotations stay.
    pub fn label(&self, secret: &mut Value) {
        secret["metadata"]["labels"] = json!(self.labels());
        for (name, value) in self.annotations() {
            secret["metadata"]["annotations"][name] = value.into();
        }
    }

    /// Gives the Secret of the default user what follows from the cluster, and keeps its password.
    pub fn update_default_user(&self, secret: &mut Value) {
        self.label(secret);
        self.set_ports(secret);
    }

    fn set_ports(&self, secret: &mut Value) {
        secret["data"]["port"] = BASE64_STANDARD.encode("5672").into();
        let ports = PLUGIN_PORTS.iter().map(|(plugin, name, port, _)| (*plugin, *name, *port));
        for (plugin, name, port) in ports.chain([("rabbitmq_stream", STREAM.0, STREAM.1)]) {
            let name = format!("{name}-port");
            let is_wanted = self.cluster.has_plugin(plugin);
            let value = is_wanted.then(|| Value::from(BASE64_STANDARD.encode(port.to_string())));
            if let Some(data) = secret["data"].as_object_mut() {
                match value {
                    Some(value) => drop(data.insert(name, value)),
                    None => drop(data.remove(&name)),
                }
            }
        }
    }

    pub fn plugins(&self) -> Value {
        let mut plugins = Vec::from(PLUGINS.map(str::to_owned));
        for plugin in self.cluster.rabbitmq().additional_plugins.into_iter().flatten() {
            if !plugins.contains(&plugin) {
                plugins.push(plugin);
            }
        }
        let enabled = format!("[{}].", plugins.join(","));
        json!({ "metadata": self.metadata(), "data": { "enabled_plugins": enabled } })
    }

    /// The configuration of the server, unless `additionalConfig` cannot be read.
    pub fn server_conf(&self) -> Result<Value, String> {
        let rabbitmq = self.cluster.rabbitmq();
        let mut user = Conf::default();
        let additional = rabbitmq.additional_config.unwrap_or_default();
        user.append(&additional).map_err(|error| format!("failed to load spec.rabbitmq.additionalConfig: {error}"))?;
        let mut defaults = Conf::default();
        for (name, value) in [
            ("queue_master_locator", "min-masters"),
            ("disk_free_limit.absolute", "2GB"),
            ("cluster_partition_handling", "pause_minority"),
            ("cluster_formation.peer_discovery_backend", "rabbit_peer_discovery_k8s"),
            ("cluster_formation.k8s.host", "kubernetes.default"),
            ("cluster_formation.k8s.address_type", "hostname"),
        ] {
            defaults.set(name, value);
        }
        defaults.set(SIZE_HINT, self.cluster.replicas());
        defaults.set("cluster_name", self.name());
        // Else the server would let anonymous users in.
        if !user.has_prefix("auth_mechanisms") {
            defaults.set("auth_mechanisms.1", "PLAIN");
            defaults.set("auth_mechanisms.2", "AMQPLAIN");
        }
        let mut user = Conf::default();
        if let Some(limit) = self.memory_limit().filter(|limit| *limit > 0) {
            user.set("total_memory_available_override_value", without_headroom(limit));
        }
        user.append(&additional)?;
        let mut data = Map::from([
            ("operatorDefaults.conf".to_owned(), defaults.to_string()),
            ("userDefinedConfiguration.conf".to_owned(), user.to_string()),
        ]);
        let files = [
            ("advanced.config", rabbitmq.advanced_config),
            ("rabbitmq-env.conf", rabbitmq.env_config),
            ("erl_inetrc", rabbitmq.erlang_inet_config),
        ];
        data.extend(files.into_iter().filter_map(|(name, text)| {
            let text = text.filter(|text| !text.is_empty())?;
            Some((name.to_owned(), text))
        }));
        Ok(json!({ "metadata": self.metadata(), "data": data }))
    }

    fn memory_limit(&self) -> Option<i64> {
        match &self.cluster.spec.resources.as_ref()?["limits"]["memory"] {
            Value::String(quantity) => bytes_of(quantity),
            number => number.as_i64(),
        }
    }

    pub fn service_account(&self) -> Value {
        json!({ "metadata": self.metadata() })
    }

    pub fn role(&self) -> Value {
        let rule = |resource, verb| json!({ "apiGroups": [""], "resources": [resource], "verbs": [verb] });
        json!({ "metadata": self.metadata(), "rules": [rule("endpoints", "get"), rule("events", "create")] })
    }

    pub fn role_binding(&self) -> Value {
        let role = self.child("peer-discovery");
        json!({
            "metadata": self.metadata(),
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": role },
            "subjects": [{ "kind": "ServiceAccount", "name": self.child("server") }],
        })
    }

    /// The StatefulSet. Its claim templates cannot be changed, so they are of a new one alone.
    pub fn stateful_set(&self, is_new: bool) -> Value {
        let mut set = json!({
            "metadata": self.metadata(),
            "spec": {
                "replicas": self.cluster.replicas(),
                "serviceName": self.child("nodes"),
                "selector": { "matchLabels": self.selector() },
                "podManagementPolicy": "Parallel",
                "updateStrategy": { "type": "RollingUpdate", "rollingUpdate": { "partition": 0 } },
                "template": { "metadata": { "labels": self.own_labels() }, "spec": self.pod() },
            },
        });
        if is_new && !self.is_ephemeral() {
            set["spec"]["volumeClaimTemplates"] = json!([self.claim()]);
        }
        set
    }

    /// The size of the claims that the spec wants.
    fn storage(&self) -> Value {
        let storage = self.cluster.spec.persistence.as_ref().and_then(|persistence| persistence.storage.clone());
        storage.unwrap_or_else(|| "10Gi".into())
    }

    fn is_ephemeral(&self) -> bool {
        match self.storage() {
            Value::String(quantity) => bytes_of(&quantity) == Some(0),
            number => number == 0,
        }
    }

    fn claim(&self) -> Value {
        let meta = self.cluster.meta();
        let owner = json!({
            "apiVersion": "rabbitmq.com/v1beta1",
            "kind": "RabbitmqCluster",
            "name": meta.name(),
            "uid": meta.uid().map(|uid| uid.to_string()),
            "controller": true,
            "blockOwnerDeletion": false,
        });
        let class = self.cluster.spec.persistence.as_ref().and_then(|it| it.storage_class_name.as_deref());
        json!({
            "metadata": {
                "name": "persistence",
                "namespace": self.namespace(),
                "labels": self.own_labels(),
                "annotations": self.annotations(),
                "ownerReferences": [owner],
            },
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": { "requests": { "storage": self.storage() } },
                "storageClassName": class,
            },
        })
    }

    /// The whole spec of the pods, with the values that a server would fill in.
    fn pod(&self) -> Value {
        let spec = &self.cluster.spec;
        let mut pod = json!({
            "securityContext": { "fsGroup": 0, "runAsUser": 999 },
            "terminationGracePeriodSeconds": self.grace_period(),
            "serviceAccountName": self.child("server"),
            "serviceAccount": self.child("server"),
            "automountServiceAccountToken": true,
            "restartPolicy": "Always",
            "dnsPolicy": "ClusterFirst",
            "schedulerName": "default-scheduler",
            "initContainers": [self.setup_container()],
            "containers": [self.container()],
            "volumes": self.volumes(),
        });
        let optional = [
            ("imagePullSecrets", json!(spec.image_pull_secrets)),
            ("affinity", json!(spec.affinity)),
            ("tolerations", json!(spec.tolerations)),
        ];
        for (name, value) in optional {
            if !value.is_null() && value != json!([]) {
                pod[name] = value;
            }
        }
        let unspread = self.cluster.annotation("rabbitmq.com/disable-default-topology-spread-constraints");
        if unspread.map(str::trim) != Some("true") {
            pod["topologySpreadConstraints"] = json!([{
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": { "matchLabels": self.selector() },
            }]);
        }
        pod
    }

    fn grace_period(&self) -> i64 {
        self.cluster.spec.termination_grace_period_seconds.unwrap_or(604_800)
    }

    fn image(&self) -> &str {
        self.cluster.spec.image.as_deref().unwrap_or_default()
    }

    /// A container of the cluster's image, with the values that a server would fill in.
    fn container_base(&self, name: &str) -> Value {
        let tag = self.image().rsplit('/').next().and_then(|last| last.split_once(':')).map(|(_, tag)| tag);
        let has_digest = self.image().contains('@');
        let is_fixed = has_digest || tag.is_some_and(|tag| tag != "latest");
        json!({
            "name": name,
            "image": self.image(),
            "imagePullPolicy": if is_fixed { "IfNotPresent" } else { "Always" },
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
        })
    }

    fn setup_container(&self) -> Value {
        let delay = self.cluster.spec.delay_start_seconds.unwrap_or(30);
        let script = format!(
            "cp /tmp/erlang-cookie-secret/.erlang.cookie /var/lib/rabbitmq/.erlang.cookie \
             && chmod 600 /var/lib/rabbitmq/.erlang.cookie ; \
             cp /tmp/rabbitmq-plugins/enabled_plugins /operator/enabled_plugins ; \
             echo '[default]' > /var/lib/rabbitmq/.rabbitmqadmin.conf \
             && sed -e 's/default_user/username/' -e 's/default_pass/password/' /tmp/default_user.conf \
             >> /var/lib/rabbitmq/.rabbitmqadmin.conf \
             && chmod 600 /var/lib/rabbitmq/.rabbitmqadmin.conf ; \
             sleep {delay}"
        );
        let resources = json!({ "cpu": "100m", "memory": "500Mi" });
        let mut container = self.container_base("setup-container");
        container["command"] = json!(["sh", "-c", script]);
        container["resources"] = json!({ "limits": resources, "requests": resources });
        container["volumeMounts"] = json!([
            mount("plugins-conf", "/tmp/rabbitmq-plugins/", None),
            mount("rabbitmq-erlang-cookie", "/var/lib/rabbitmq/", None),
            mount("erlang-cookie-secret", "/tmp/erlang-cookie-secret/", None),
            mount("rabbitmq-plugins", "/operator", None),
            mount("persistence", "/var/lib/rabbitmq/mnesia/", None),
            mount("rabbitmq-confd", "/tmp/default_user.conf", Some("default_user.conf")),
        ]);
        container
    }

    fn container(&self) -> Value {
        let field = |name, path| {
            let source = json!({ "fieldRef": { "apiVersion": "v1", "fieldPath": path } });
            json!({ "name": name, "valueFrom": source })
        };
        let (grace, value) = (self.grace_period(), |name, value: &str| json!({ "name": name, "value": value }));
        let stop = format!(
            "if [ ! -z \"$(cat /etc/pod-info/skipPreStopChecks)\" ]; then exit 0; fi; \
             rabbitmq-upgrade await_online_quorum_plus_one -t {grace} && \
             rabbitmq-upgrade await_online_synchronized_mirror -t {grace} && \
             rabbitmq-upgrade drain -t {grace}"
        );
        let mut container = self.container_base("rabbitmq");
        if let Some(resources) = &self.cluster.spec.resources {
            container["resources"] = resources.clone();
        }
        container["env"] = json!([
            field("MY_POD_NAME", "metadata.name"),
            field("MY_POD_NAMESPACE", "metadata.namespace"),
            value("K8S_SERVICE_NAME", &self.child("nodes")),
            value("RABBITMQ_ENABLED_PLUGINS_FILE", "/operator/enabled_plugins"),
            value("RABBITMQ_USE_LONGNAME", "true"),
            value("RABBITMQ_NODENAME", "rabbit@$(MY_POD_NAME).$(K8S_SERVICE_NAME).$(MY_POD_NAMESPACE)"),
            value("K8S_HOSTNAME_SUFFIX", ".$(K8S_SERVICE_NAME).$(MY_POD_NAMESPACE)"),
        ]);
        container["ports"] = self.container_ports();
        container["volumeMounts"] = self.mounts();
        container["readinessProbe"] = json!({
            "tcpSocket": { "port": "amqp" },
            "initialDelaySeconds": 10,
            "timeoutSeconds": 5,
            "periodSeconds": 10,
            "successThreshold": 1,
            "failureThreshold": 3,
        });
        container["lifecycle"] = json!({ "preStop": { "exec": { "command": ["/bin/bash", "-c", stop] } } });
        container
    }

    fn container_ports(&self) -> Value {
        let base = [("epmd", 4369), ("amqp", 5672), ("management", 15672), ("prometheus", 15692)];
        let plugins = PLUGIN_PORTS.iter().filter(|(plugin, ..)| self.cluster.has_plugin(plugin));
        let plugins = plugins.map(|(_, name, port, _)| (*name, *port));
        let stream = self.cluster.needs_stream().then_some((STREAM.0, STREAM.1));
        let ports = base.into_iter().chain(plugins).chain(stream);
        ports.map(|(name, port)| json!({ "name": name, "containerPort": port, "protocol": "TCP" })).collect()
    }

    fn mounts(&self) -> Value {
        let rabbitmq = self.cluster.rabbitmq();
        let conf = |path, file| mount("rabbitmq-confd", path, Some(file));
        let mut mounts = vec![
            mount("rabbitmq-erlang-cookie", "/var/lib/rabbitmq/", None),
            mount("persistence", "/var/lib/rabbitmq/mnesia/", None),
            mount("rabbitmq-plugins", "/operator", None),
            conf("/etc/rabbitmq/conf.d/10-operatorDefaults.conf", "operatorDefaults.conf"),
            conf("/etc/rabbitmq/conf.d/90-userDefinedConfiguration.conf", "userDefinedConfiguration.conf"),
            mount("pod-info", "/etc/pod-info/", None),
            conf("/etc/rabbitmq/conf.d/11-default_user.conf", "default_user.conf"),
        ];
        let files = [
            (rabbitmq.env_config, "rabbitmq-env.conf"),
            (rabbitmq.advanced_config, "advanced.config"),
            (rabbitmq.erlang_inet_config, "erl_inetrc"),
        ];
        for (text, file) in files {
            if text.is_some_and(|text| !text.is_empty()) {
                mounts.push(mount("server-conf", &format!("/etc/rabbitmq/{file}"), Some(file)));
            }
        }
        mounts.into()
    }

    fn volumes(&self) -> Value {
        let item = |name| json!({ "key": name, "path": name });
        let user = self.cluster.external_secret().map_or_else(|| self.child("default-user"), str::to_owned);
        let marker = json!({
            "path": "skipPreStopChecks",
            "fieldRef": { "apiVersion": "v1", "fieldPath": "metadata.labels['skipPreStopChecks']" },
        });
        let map = |suffix| json!({ "name": self.child(suffix), "defaultMode": 420 });
        let conf_items = json!([item("operatorDefaults.conf"), item("userDefinedConfiguration.conf")]);
        let sources = json!([
            { "configMap": { "name": self.child("server-conf"), "items": conf_items } },
            { "secret": { "name": user, "items": [item("default_user.conf")] } },
        ]);
        let mut volumes = vec![
            json!({ "name": "plugins-conf", "configMap": map("plugins-conf") }),
            json!({ "name": "rabbitmq-confd", "projected": { "sources": sources, "defaultMode": 420 } }),
            json!({ "name": "rabbitmq-erlang-cookie", "emptyDir": {} }),
            json!({
                "name": "erlang-cookie-secret",
                "secret": { "secretName": self.child("erlang-cookie"), "defaultMode": 420 },
            }),
            json!({ "name": "rabbitmq-plugins", "emptyDir": {} }),
            json!({ "name": "pod-info", "downwardAPI": { "items": [marker], "defaultMode": 420 } }),
        ];
        let rabbitmq = self.cluster.rabbitmq();
        let files = [rabbitmq.advanced_config, rabbitmq.env_config, rabbitmq.erlang_inet_config];
        if files.iter().flatten().any(|text| !text.is_empty()) {
            volumes.push(json!({ "name": "server-conf", "configMap": map("server-conf") }));
        }
        if self.is_ephemeral() {
            volumes.push(json!({ "name": "persistence", "emptyDir": {} }));
        }
        volumes.into()
    }
}

fn mount(name: &str, path: &str, file: Option<&str>) -> Value {
    match file {
        Some(file) => json!({ "name": name, "mountPath": path, "subPath": file }),
        None => json!({ "name": name, "mountPath": path }),
    }
}

const SIZE_HINT: &str = "cluster_formation.target_cluster_size_hint";

/// Whether nodes have to restart for the new configuration. The size hint is for new nodes alone.
pub fn needs_restart(before: &Value, after: &Value) -> bool {
    let relevant = |map: &Value| {
        let mut data = map["data"].clone();
        let text = data["operatorDefaults.conf"].as_str().unwrap_or_default();
        let lines: Vec<_> = text.lines().filter(|line| !line.starts_with(SIZE_HINT)).collect();
        data["operatorDefaults.conf"] = lines.join("\n").into();
        data
    };
    relevant(before) != relevant(after)
}

/// What the server may use of so much memory: the virtual machine of Erlang needs some of its own.
fn without_headroom(limit: i64) -> i64 {
    limit - (limit / 5).min(2 << 30)
}

/// 24 random bytes as text.
fn random_text() -> String {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes).expect("the system has random bytes");
    BASE64_URL_SAFE.encode(bytes)
}
