//! The kinds of the PostgreSQL operator, with the fields that it knows.

use listwatch::kind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A database, with a role that owns it, one that writes, and one that reads.
#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct Postgres {
    pub(crate) metadata: Metadata,
    pub(crate) spec: DatabaseSpec,
    #[serde(default)]
    pub(crate) status: DatabaseStatus,
}

/// What is kept of metadata beside that of each object.
#[derive(Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Metadata {
    pub(crate) uid: Option<String>,
    pub(crate) deletion_timestamp: Option<String>,
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
}

#[derive(Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DatabaseSpec {
    pub(crate) database: String,
    pub(crate) master_role: Option<String>,
    #[serde(default)]
    pub(crate) drop_on_delete: bool,
    #[serde(default)]
    pub(crate) schemas: Vec<String>,
    #[serde(default)]
    pub(crate) extensions: Vec<String>,
}

#[derive(Clone, Default, Deserialize, Serialize)]
pub(crate) struct DatabaseStatus {
    pub(crate) succeeded: Option<bool>,
    #[serde(default)]
    pub(crate) roles: Roles,
    #[serde(default)]
    pub(crate) schemas: Vec<String>,
    #[serde(default)]
    pub(crate) extensions: Vec<String>,
}

#[derive(Clone, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Roles {
    pub(crate) owner: Option<String>,
    /// The name that the owner is being given. The original has no such field.
    pub(crate) new_owner: Option<String>,
    pub(crate) reader: Option<String>,
    pub(crate) writer: Option<String>,
}

/// A role that can log in, in one of the groups of a database.
#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct PostgresUser {
    pub(crate) metadata: Metadata,
    pub(crate) spec: UserSpec,
    #[serde(default)]
    pub(crate) status: UserStatus,
}

#[derive(Clone, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UserSpec {
    pub(crate) role: String,
    /// The name of the Postgres, in the same namespace.
    pub(crate) database: String,
    pub(crate) secret_name: String,
    #[serde(default)]
    pub(crate) secret_template: BTreeMap<String, String>,
    pub(crate) privileges: Option<String>,
    #[serde(default)]
    pub(crate) annotations: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
}

#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct UserStatus {
    pub(crate) succeeded: Option<bool>,
    pub(crate) postgres_role: Option<String>,
    pub(crate) postgres_login: Option<String>,
    pub(crate) postgres_group: Option<String>,
    pub(crate) database_name: Option<String>,
}

#[derive(Clone, Deserialize, Serialize)]
pub(crate) struct Secret {
    #[serde(default)]
    pub(crate) data: BTreeMap<String, String>,
}

kind!(Postgres, "db.movetokube.com/v1alpha1", "postgres");
kind!(PostgresUser, "db.movetokube.com/v1alpha1", "postgresusers");
kind!(Secret, "v1", "secrets");

impl DatabaseSpec {
    /// The roles that the database is to have.
    pub(crate) fn roles(&self) -> Roles {
        let named = |what| Some(format!("{}-{what}", self.database));
        let owner = self.master_role.clone().filter(|role| !role.is_empty()).or_else(|| named("group"));
        Roles { owner, new_owner: None, reader: named("reader"), writer: named("writer") }
    }
}

impl Roles {
    /// The owner, the reader and the writer.
    pub(crate) fn names(&self) -> [String; 3] {
        [&self.owner, &self.reader, &self.writer].map(|role| role.clone().unwrap_or_default())
    }
}
