//! What the PostgreSQL operator makes of its objects, and what interruptions leave of it.

use crate::ports::postgres_kinds::Postgres;
use crate::ports::postgres_operator::{Settings, operate};
use crate::ports::postgres_server::{Contents, SimulatedServer};
use crate::ports::postgres_sql::Privileges;
use base64::prelude::{BASE64_STANDARD, Engine};
use core::time::Duration;
use listwatch::World;
use listwatch::testing::{Fault, SimulatedCluster};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

const DATABASES: &str = "db.movetokube.com/v1alpha1/postgres";
const USERS: &str = "db.movetokube.com/v1alpha1/postgresusers";
const SECRETS: &str = "v1/secrets";

/// A cluster, and a server beside it.
struct Stage {
    cluster: SimulatedCluster,
    server: Arc<SimulatedServer>,
    drawn: Arc<AtomicU32>,
}

impl Stage {
    /// With the database `shop`, which has a schema and an extension, and its user `app`.
    fn new() -> Self {
        let cluster = SimulatedCluster::new().with_kind_of::<Postgres>();
        let stage = Self { cluster, server: Arc::new(SimulatedServer::new()), drawn: Arc::default() };
        let spec = json!({ "database": "shop", "dropOnDelete": true, "schemas": ["stock"], "extensions": ["citext"] });
        stage.create("Postgres", "shop", spec);
        stage.create_user("app", "WRITE");
        stage
    }

    fn create(&self, kind: &str, name: &str, spec: Value) {
        let object = json!({ "apiVersion": "db.movetokube.com/v1alpha1", "kind": kind,
            "metadata": { "name": name, "namespace": "web" }, "spec": spec });
        self.cluster.create(object).unwrap();
    }

    fn create_user(&self, name: &str, privileges: &str) {
        let spec = json!({ "role": name, "database": "shop", "secretName": "pg", "privileges": privileges,
            "secretTemplate": { "DSN": "{{.Role}}@{{.Hostname}}/{{.Database}}" } });
        self.create("PostgresUser", name, spec);
    }

    /// Runs the operator for a minute.
    fn run(&self) {
        let drawn = Arc::clone(&self.drawn);
        let settings = Settings {
            host: "pg.example.com:5433".into(),
            user: "postgres".into(),
            default_database: "postgres".into(),
            uri_args: "sslmode=require".into(),
            instance: None,
            keep_secret_name: false,
            draw: Box::new(move |length| format!("{:0>length$}", drawn.fetch_add(1, Ordering::Relaxed))),
        };
        let world = World::from(self.cluster.clone()).lasting(Duration::from_secs(60)).on_report_line(|_| {});
        operate(world, settings, self.server.clone()).unwrap();
    }

    fn patch(&self, resource: &str, name: &str, patch: Value) {
        self.cluster.patch(resource, &format!("web/{name}"), patch).unwrap();
    }

    fn delete(&self, resource: &str, name: &str) {
        self.cluster.delete(resource, &format!("web/{name}")).unwrap();
    }

    fn get(&self, resource: &str, name: &str) -> Value {
        self.cluster.get(resource, &format!("web/{name}")).unwrap()
    }

    fn has(&self, resource: &str, name: &str) -> bool {
        self.cluster.get(resource, &format!("web/{name}")).is_ok()
    }

    /// A field of a user's Secret.
    fn secret(&self, user: &str, field: &str) -> String {
        let secret = self.get(SECRETS, &format!("pg-{user}"));
        let text = BASE64_STANDARD.decode(secret["data"][field].as_str().unwrap()).unwrap();
        String::from_utf8(text).unwrap()
    }

    fn contents(&self) -> Contents {
        self.server.contents()
    }

    /// The database and the user are complete: whoever reads the Secret can log in, and there is no other role.
    #[track_caller]
    fn assert_complete(&self, what: &str) {
        let (role, contents) = (self.secret("app", "ROLE"), self.contents());
        let noted = self.get(USERS, "app")["status"].clone();
        assert_eq!((&noted["succeeded"], &noted["postgresRole"]), (&json!(true), &json!(role)), "{what}");
        let names: Vec<_> = contents.roles.keys().map(String::as_str).collect();
        assert_eq!(names, [&*role, "postgres", "shop-group", "shop-reader", "shop-writer"], "{what}");
        let login = &contents.roles[&role];
        assert_eq!(login.password.as_deref(), Some(&*self.secret("app", "PASSWORD")), "{what}");
        assert_eq!((login.can_log_in, &login.groups), (true, &["shop-writer".to_owned()].into()), "{what}");
        let database = &contents.databases["shop"];
        assert_eq!(database.schemas["stock"].privileges.len(), 3, "{what}");
        let noted = self.get(DATABASES, "shop")["status"].clone();
        assert_eq!((&noted["succeeded"], &noted["extensions"]), (&json!(true), &json!(["citext"])), "{what}");
    }
}

#[test]
fn a_database_gets_its_roles_and_a_user_a_role_by_which_its_secret_logs_in() {
    let stage = Stage::new();
    stage.run();
    stage.assert_complete("at once");
    let database = &stage.contents().databases["shop"];
    assert_eq!((&*database.owner, database.extensions.len()), ("shop-group", 1));
    let privileges: Vec<_> = database.schemas["stock"].privileges.iter().map(|(role, it)| (&**role, *it)).collect();
    let (all, read, write) = (Privileges::All, Privileges::Read, Privileges::Write);
    assert_eq!(privileges, [("shop-group", all), ("shop-reader", read), ("shop-writer", write)]);
    let (role, owner) =
        (stage.secret("app", "ROLE"), stage.get(USERS, "app")["metadata"]["ownerReferences"][0].clone());
    assert_eq!((&owner["kind"], &owner["name"]), (&json!("Postgres"), &json!("shop")));
    assert_eq!(stage.secret("app", "DSN"), format!("{role}@pg.example.com/shop"));
    assert_eq!((stage.secret("app", "PORT"), stage.secret("app", "LOGIN")), ("5433".into(), role));

    let (requests, contents) = (stage.cluster.requests().len(), stage.contents());
    stage.server.take_executed();
    stage.run();
    let again = stage.server.take_executed();
    assert_eq!((stage.cluster.requests().len(), stage.contents()), (requests, contents), "nothing is left to do");
    assert!(
        again.iter().all(|sql| sql.starts_with("CREATE SCHEMA IF") || sql.starts_with("GRANT USAGE")),
        "{again:#?}"
    );
}

#[test]
fn a_user_waits_for_its_database() {
    let stage = Stage::new();
    stage.delete(DATABASES, "shop");
    stage.run();
    assert_eq!(stage.get(USERS, "app")["status"]["succeeded"], false);
    assert_eq!(stage.contents().roles.len(), 1);
    stage.create("Postgres", "shop", json!({ "database": "shop", "schemas": ["stock"], "extensions": ["citext"] }));
    stage.run();
    stage.assert_complete("later");
}

#[test]
fn a_deleted_secret_comes_back_with_a_password_that_logs_in() {
    let stage = Stage::new();
    stage.run();
    let first = stage.secret("app", "PASSWORD");
    stage.delete(SECRETS, "pg-app");
    stage.run();
    stage.assert_complete("again");
    assert_ne!(stage.secret("app", "PASSWORD"), first);
}

#[test]
fn the_owner_is_renamed_and_a_user_changes_its_group() {
    let stage = Stage::new();
    stage.create_user("admin", "OWNER");
    stage.run();
    stage.patch(DATABASES, "shop", json!({ "spec": { "masterRole": "keepers" } }));
    stage.patch(USERS, "app", json!({ "spec": { "privileges": "READ" } }));
    stage.run();
    let (contents, app, admin) = (stage.contents(), stage.secret("app", "ROLE"), stage.secret("admin", "ROLE"));
    assert!(!contents.roles.contains_key("shop-group"));
    assert_eq!(contents.databases["shop"].owner, "keepers");
    assert_eq!(contents.roles[&admin].groups, ["keepers".to_owned()].into());
    assert_eq!(contents.roles[&app].groups, ["shop-reader".to_owned()].into());
    assert_eq!(contents.roles[&app].set_role.as_deref(), Some("shop-reader"));
    assert_eq!(stage.get(USERS, "admin")["status"]["postgresGroup"], "keepers");
}

#[test]
fn an_owner_that_is_renamed_while_the_operator_is_stopped_has_one_name() {
    for (first, second) in (0..8).flat_map(|first| (0..8).map(move |second| (first, second))) {
        let stage = Stage::new();
        let empty = stage.contents();
        for (left, owner) in [(first, "keepers"), (second, "owners"), (usize::MAX, "owners")] {
            stage.server.stop_after(left);
            stage.run();
            stage.patch(DATABASES, "shop", json!({ "spec": { "masterRole": owner } }));
        }
        stage.run();
        let (what, contents, role) = ((first, second), stage.contents(), stage.secret("app", "ROLE"));
        let names: Vec<_> = contents.roles.keys().map(String::as_str).collect();
        assert_eq!(names, [&*role, "owners", "postgres", "shop-reader", "shop-writer"], "{what:?}");
        assert_eq!(contents.databases["shop"].owner, "owners", "{what:?}");
        stage.delete(DATABASES, "shop");
        stage.run();
        assert_eq!(stage.contents(), empty, "{what:?}");
    }
}

#[test]
fn a_user_whose_privileges_change_while_the_operator_is_stopped_has_one_group() {
    for left in 0..20 {
        let stage = Stage::new();
        stage.server.stop_after(left);
        stage.run();
        stage.patch(USERS, "app", json!({ "spec": { "privileges": "READ" } }));
        stage.server.stop_after(usize::MAX);
        stage.run();
        let login = &stage.contents().roles[&stage.secret("app", "ROLE")];
        assert_eq!(login.groups, ["shop-reader".to_owned()].into(), "after {left} statements");
    }
}

#[test]
fn a_name_that_another_role_has_is_refused_and_its_role_stays() {
    for is_renamed in [true, false] {
        let stage = Stage::new();
        let empty = stage.contents();
        stage.run();
        stage.patch(DATABASES, "shop", json!({ "spec": { "masterRole": "postgres" } }));
        stage.run();
        assert_eq!(stage.get(DATABASES, "shop")["status"]["succeeded"], false);
        if is_renamed {
            stage.patch(DATABASES, "shop", json!({ "spec": { "masterRole": "keepers" } }));
            stage.run();
            assert_eq!(stage.contents().databases["shop"].owner, "keepers");
        }
        stage.delete(DATABASES, "shop");
        stage.run();
        assert_eq!(stage.contents(), empty, "{is_renamed}");
    }
}

#[test]
fn an_extension_that_is_not_available_holds_up_nothing_else() {
    let stage = Stage::new();
    stage.patch(DATABASES, "shop", json!({ "spec": { "extensions": ["no-such", "citext"] } }));
    stage.run();
    stage.assert_complete("without one extension");
}

#[test]
fn what_is_deleted_is_dropped_and_its_users_go_too() {
    let stage = Stage::new();
    let empty = stage.contents();
    stage.run();
    stage.delete(DATABASES, "shop");
    stage.run();
    assert_eq!(stage.contents(), empty);
    assert!(!stage.has(DATABASES, "shop") && !stage.has(USERS, "app") && !stage.has(SECRETS, "pg-app"));
}

#[test]
fn a_database_stays_for_another_postgres_or_if_it_is_to_be_kept() {
    for is_kept in [true, false] {
        let stage = Stage::new();
        match is_kept {
            true => stage.patch(DATABASES, "shop", json!({ "spec": { "dropOnDelete": false } })),
            false => stage.create("Postgres", "other", json!({ "database": "shop", "dropOnDelete": true })),
        }
        stage.run();
        stage.delete(DATABASES, "shop");
        stage.run();
        assert!(!stage.has(DATABASES, "shop"));
        assert!(stage.contents().databases.contains_key("shop"), "{is_kept}");
    }
}

#[test]
fn objects_of_another_instance_are_left_alone() {
    let stage = Stage::new();
    let named = json!({ "metadata": { "annotations": { "postgres.db.movetokube.com/instance": "other" } } });
    stage.patch(DATABASES, "shop", named);
    stage.run();
    assert_eq!(stage.server.take_executed(), [""; 0]);
    assert!(stage.get(DATABASES, "shop")["metadata"]["finalizers"].is_null());
}

#[test]
fn an_operator_that_is_stopped_at_any_statement_goes_on_where_it_was() {
    let whole = Stage::new();
    whole.run();
    let statements = whole.server.take_executed().len();
    assert!(statements > 15, "{statements}");
    for left in 0..statements {
        let stage = Stage::new();
        let empty = stage.contents();
        stage.server.stop_after(left);
        stage.run();
        stage.server.stop_after(usize::MAX);
        stage.run();
        stage.assert_complete(&format!("after {left} statements"));
        stage.server.stop_after(left % 12);
        stage.delete(DATABASES, "shop");
        stage.run();
        stage.server.stop_after(usize::MAX);
        stage.run();
        assert_eq!(stage.contents(), empty, "after {left} statements");
    }
}

#[test]
fn a_request_that_fails_in_any_way_is_made_again() {
    let of = |plural: &str, name: &str| format!("/apis/db.movetokube.com/v1alpha1/namespaces/web/{plural}/{name}");
    let patches = [of("postgres", "shop"), of("postgresusers", "app")].map(|path| format!("PATCH {path}"));
    let requests = patches.into_iter().chain(["POST /api/v1/namespaces/web/secrets".to_owned()]);
    for (request, fault) in requests.flat_map(|request| {
        let faults = [Fault::Lost, Fault::Unreachable, Fault::Refused(409), Fault::Refused(503)];
        faults.map(|fault| (request.clone(), fault))
    }) {
        for skipped in 0..4 {
            let stage = Stage::new();
            // The first requests are answered by a restart of the operator.
            (0..skipped).for_each(|_| stage.cluster.fail_next(&request, Fault::Refused(500)).unwrap());
            stage.cluster.fail_next(&request, fault).unwrap();
            stage.run();
            stage.run();
            stage.assert_complete(&format!("{request} {fault:?} after {skipped}"));
        }
    }
}
