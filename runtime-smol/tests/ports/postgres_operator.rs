//! A port of movetokube/postgres-operator, version 2.4.0 (github.com/movetokube/postgres-operator, commit d11ec076): it
//! makes databases and roles on a PostgreSQL server outside of the cluster, and keeps the credentials of each role in a
//! Secret.
//!
//! The kinds, the fields but one, the names of roles and the contents of Secrets are the original's. Left out are what three cloud
//! providers need, the election, and the functions of templates. These differ, because the original loses something if it
//! is stopped, or follows no more than its own kinds:
//!
//! | the original | here |
//! |---|---|
//! | adds its finalizer last | adds it before anything is made on the server |
//! | notes the drawn name of a role, or the new one of an owner, after the server has it | notes it before |
//! | changes a password, and then creates its Secret | creates the Secret, and then gives the role the Secret's password |
//! | revokes the group that it has noted | revokes each group of the database but one |
//! | drops a role only after a success | drops each role that it has noted |
//! | asks its cache whether another Postgres has the database | asks the server |
//! | retries a user until its database is ready | is woken by the database, and by a Secret that is changed or deleted |

use crate::ports::postgres_kinds::{
    DatabaseSpec, DatabaseStatus, Metadata, Postgres, PostgresUser, Roles, Secret, UserSpec, UserStatus,
};
use crate::ports::postgres_sql::{DUPLICATE_OBJECT, Privileges, Server, Sql, SqlError};
use base64::prelude::{BASE64_STANDARD, Engine};
use listwatch::api::Api;
use listwatch::controller::{Context, Controller, Error, Outcome, Reconciled, RunError, run_all};
use listwatch::{Found, InformerHandle, Informers, Key, Resource, World};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const FINALIZER: &str = "finalizer.db.movetokube.com";
const INSTANCE: &str = "postgres.db.movetokube.com/instance";

/// What the original reads from its environment.
pub(crate) struct Settings {
    /// Such as `pg.example.com:5432`.
    pub(crate) host: String,
    /// The operator's own role.
    pub(crate) user: String,
    pub(crate) default_database: String,
    pub(crate) uri_args: String,
    /// Only objects with this annotation are the operator's, or only those without one.
    pub(crate) instance: Option<String>,
    pub(crate) keep_secret_name: bool,
    /// Draws so many letters.
    pub(crate) draw: Box<dyn Fn(usize) -> String + Send + Sync>,
}

struct Operator {
    settings: Settings,
    server: Arc<dyn Server>,
    databases: InformerHandle<Postgres>,
    users: InformerHandle<PostgresUser>,
    secrets: InformerHandle<Secret>,
}

pub(crate) fn operate(world: impl Into<World>, settings: Settings, server: Arc<dyn Server>) -> Result<(), RunError> {
    let informers = Informers::new(world);
    let (databases, users, secrets) = (informers.informer(), informers.informer(), informers.informer());
    let operator = Operator { settings, server, databases, users, secrets };
    let by_database = operator.users.add_index(|user, emit| {
        emit(user.key().sibling(&user.spec.database).as_str());
    });
    let databases = Controller::new("postgres", &informers)
        .reconciles(&operator.databases)
        .calls(async |cx, key| operator.reconcile_database(&cx, &key).await);
    let of_database = operator.users.clone();
    let users = Controller::new("postgresusers", &informers)
        .reconciles(&operator.users)
        .owns(&operator.secrets)
        .maps(&operator.databases, move |database, keys| {
            let users = of_database.by_index(by_database, database.key().as_str());
            users.iter().for_each(|user| keys.add(user.key().clone()));
        })
        .calls(async |cx, key| operator.reconcile_user(&cx, &key).await);
    run_all([databases, users])
}

/// Databases.
impl Operator {
    async fn reconcile_database(&self, cx: &Context, key: &Key) -> Reconciled {
        let Some(database) = self.databases.get(key) else { return Ok(Outcome::Done) };
        if !self.is_ours(&database.metadata) {
            return Ok(Outcome::Done);
        }
        let clean_up = async |database: &Found<Postgres>| self.drop_database(cx, database).await;
        let Some(database) = cx.finalizer(&database, FINALIZER, clean_up).await? else { return Ok(Outcome::Done) };
        let database = self.note_owner(cx, &database).await?;
        let mut status = database.status.clone();
        let made = self.make_database(cx, &database.spec, &mut status).await;
        status.succeeded = Some(made.is_ok());
        let ended = match made {
            Ok(()) => self.extend_database(cx, &database.spec, &mut status).await,
            failed => failed,
        };
        cx.change_status(&database, |database| database.status = status.clone()).await?;
        ended.map(|()| Outcome::Done)
    }

    /// Notes the owner's new name before the server has it. One that was noted before and is not wanted any more is settled
    /// first, so that at most two names are in question.
    async fn note_owner(&self, cx: &Context, database: &Found<Postgres>) -> Result<Found<Postgres>, Error> {
        let (noted, wanted) = (&database.status.roles.new_owner, database.spec.roles().owner);
        let database = match noted {
            Some(_) if *noted != wanted => self.settle_owner(cx, database).await?,
            _ => database.clone(),
        };
        let note = |database: &mut Postgres| {
            let roles = &mut database.status.roles;
            if roles.owner != wanted {
                roles.new_owner.clone_from(&wanted);
            }
        };
        Ok(cx.change_status(&database, note).await?)
    }

    /// Gives the owner the name that is noted. A name that the server refuses is that of another role.
    async fn settle_owner(&self, cx: &Context, database: &Found<Postgres>) -> Result<Found<Postgres>, Error> {
        let Roles { owner: known, new_owner: new, .. } = database.status.roles.clone();
        let rename = known.clone().zip(new.clone()).map(|(known, new)| Sql::RenameRole(known, new));
        let renamed = self.execute(cx, &self.settings.default_database, rename).await;
        let owner = match renamed {
            Err(error) if error.code == DUPLICATE_OBJECT => known,
            renamed => renamed.map(|()| new.clone().or(known))?,
        };
        let settle = |database: &mut Postgres| {
            let roles = &mut database.status.roles;
            if roles.new_owner == new {
                (roles.owner, roles.new_owner) = (owner.clone(), None);
            }
        };
        Ok(cx.change_status(database, settle).await?)
    }

    /// Makes the database and its roles. If they are made, only the owner may have another name since.
    async fn make_database(&self, cx: &Context, spec: &DatabaseSpec, status: &mut DatabaseStatus) -> Result<(), Error> {
        let (name, roles) = (spec.database.clone(), spec.roles());
        if status.succeeded == Some(true) && status.roles == roles {
            return Ok(());
        }
        let [owner, reader, writer] = roles.names();
        let known = status.roles.owner.clone().filter(|known| *known != owner);
        let mut statements = Vec::from_iter(known.map(|known| Sql::RenameRole(known, owner.clone())));
        statements.extend([
            Sql::CreateGroup(owner.clone()),
            Sql::CreateDatabase(name.clone()),
            Sql::SetOwner(name.clone(), owner.clone()),
            Sql::GrantCreate(name, owner),
            Sql::CreateGroup(reader),
            Sql::CreateGroup(writer),
        ]);
        self.execute(cx, &self.settings.default_database, statements).await?;
        status.roles = roles;
        Ok(())
    }

    /// Makes what is missing in the database, and grants the privileges each time. What fails holds up nothing else.
    async fn extend_database(
        &self,
        cx: &Context,
        spec: &DatabaseSpec,
        status: &mut DatabaseStatus,
    ) -> Result<(), Error> {
        let ([owner, reader, writer], mut ended) = (spec.roles().names(), Ok(()));
        for extension in &spec.extensions {
            if status.extensions.contains(extension) {
                continue;
            }
            match self.execute(cx, &spec.database, [Sql::CreateExtension(extension.clone())]).await {
                Ok(()) => status.extensions.push(extension.clone()),
                Err(error) => ended = Err(error.into()),
            }
        }
        for schema in &spec.schemas {
            let grant = |role: &String, privileges| Sql::GrantInSchema(schema.clone(), role.clone(), privileges);
            let statements = [
                Sql::CreateSchema(schema.clone(), owner.clone()),
                grant(&reader, Privileges::Read),
                grant(&writer, Privileges::Write),
                grant(&owner, Privileges::All),
            ];
            match self.execute(cx, &spec.database, statements).await {
                Ok(()) if status.schemas.contains(schema) => {}
                Ok(()) => status.schemas.push(schema.clone()),
                Err(error) => ended = Err(error.into()),
            }
        }
        ended
    }

    async fn drop_database(&self, cx: &Context, database: &Found<Postgres>) -> Result<(), Error> {
        if !database.spec.drop_on_delete || self.is_shared(cx, database).await? {
            return Ok(());
        }
        let Roles { owner, .. } = self.settle_owner(cx, database).await?.status.roles.clone();
        let Roles { reader, writer, .. } = database.spec.roles();
        for role in [owner, reader, writer].into_iter().flatten() {
            self.drop_role(cx, &database.spec.database, &role, &self.settings.user).await?;
        }
        let name = || database.spec.database.clone();
        let statements = [Sql::RevokeConnect(name()), Sql::Terminate(name()), Sql::DropDatabase(name())];
        Ok(self.execute(cx, &self.settings.default_database, statements).await?)
    }

    /// Whether another Postgres is to keep the database. The cache may lack one that was created just now.
    async fn is_shared(&self, cx: &Context, database: &Postgres) -> Result<bool, Error> {
        let all = cx.call(Api::<Postgres>::new(&Resource::of::<Postgres>()).list()).await?;
        let keeps = |other: &Postgres| {
            let Metadata { uid, deletion_timestamp, .. } = &other.metadata;
            let is_other = *uid != database.metadata.uid && self.is_ours(&other.metadata);
            is_other && deletion_timestamp.is_none() && other.spec.database == database.spec.database
        };
        Ok(all.items.iter().any(keeps))
    }
}

/// Users.
impl Operator {
    async fn reconcile_user(&self, cx: &Context, key: &Key) -> Reconciled {
        let Some(user) = self.users.get(key) else { return Ok(Outcome::Done) };
        if !self.is_ours(&user.metadata) {
            return Ok(Outcome::Done);
        }
        let clean_up = async |user: &Found<PostgresUser>| self.drop_user(cx, user).await;
        let Some(user) = cx.finalizer(&user, FINALIZER, clean_up).await? else { return Ok(Outcome::Done) };
        let Some(database) = self.ready_database_of(&user) else {
            cx.change_status(&user, |user| user.status.succeeded = Some(false)).await?;
            return Ok(Outcome::Done); // the database wakes it
        };
        let user = self.note_user(cx, &cx.adopt(&user, &database).await?, &database).await?;
        let mut status = user.status.clone();
        let made = self.make_user(cx, &user, &database.status.roles, &mut status).await;
        status.succeeded = Some(made.is_ok());
        cx.change_status(&user, |user| user.status = status.clone()).await?;
        made.map(|()| Outcome::Done)
    }

    fn ready_database_of(&self, user: &Found<PostgresUser>) -> Option<Found<Postgres>> {
        let database = self.databases.get(&user.key().sibling(&user.spec.database))?;
        let is_ready = database.status.succeeded == Some(true) && !database.is_terminating();
        Some(database).filter(|database| is_ready && self.is_ours(&database.metadata))
    }

    /// Notes the name of the role before there is one, and that the user is not ready if its Secret is missing.
    async fn note_user(
        &self,
        cx: &Context,
        user: &Found<PostgresUser>,
        database: &Found<Postgres>,
    ) -> Result<Found<PostgresUser>, Error> {
        let is_complete = self.secret_of(user).is_some();
        let drawn = || format!("{}-{}", user.spec.role, (self.settings.draw)(6));
        let role = user.status.postgres_role.clone().unwrap_or_else(drawn);
        let note = |user: &mut PostgresUser| {
            let role = user.status.postgres_role.get_or_insert_with(|| role.clone()).clone();
            user.status.postgres_login.get_or_insert(role);
            user.status.database_name.get_or_insert_with(|| database.spec.database.clone());
            user.status.succeeded = Some(is_complete && user.status.succeeded == Some(true));
        };
        Ok(cx.change_status(user, note).await?)
    }

    /// Makes the role, and gives it its group and the password of its Secret.
    async fn make_user(
        &self,
        cx: &Context,
        user: &Found<PostgresUser>,
        groups: &Roles,
        status: &mut UserStatus,
    ) -> Result<(), Error> {
        let (is_new, role) = (status.succeeded != Some(true), status.postgres_role.clone().unwrap_or_default());
        let group = match user.spec.privileges.as_deref() {
            Some("READ") => groups.reader.clone(),
            Some("WRITE") => groups.writer.clone(),
            _ => groups.owner.clone(),
        };
        let mut statements = Vec::from_iter(is_new.then(|| Sql::CreateLogin(role.clone())));
        if status.postgres_group != group {
            // If the operator was stopped, the role may have been granted one that is not noted.
            let Roles { owner, new_owner, reader, writer } = groups.clone();
            let known = [status.postgres_group.clone(), owner, new_owner, reader, writer].into_iter().flatten();
            let others = BTreeSet::from_iter(known.filter(|known| Some(known) != group.as_ref()));
            statements.extend(others.into_iter().map(|other| Sql::Revoke(other, role.clone())));
            let group = || group.clone().unwrap_or_default();
            statements.extend([Sql::Grant(group(), role.clone()), Sql::SetRole(role.clone(), group())]);
        }
        self.execute(cx, &self.settings.default_database, statements).await?;
        status.postgres_group = group;
        if is_new {
            let password = self.ensure_secret(cx, user).await?;
            self.execute(cx, &self.settings.default_database, [Sql::SetPassword(role, password)]).await?;
        }
        Ok(())
    }

    async fn drop_user(&self, cx: &Context, user: &Found<PostgresUser>) -> Result<(), Error> {
        let Some(role) = &user.status.postgres_role else { return Ok(()) };
        let (name, heir) = (&user.status.database_name, &user.status.postgres_group);
        let name = name.as_ref().unwrap_or(&self.settings.default_database);
        self.drop_role(cx, name, role, heir.as_ref().unwrap_or(&self.settings.user)).await
    }
}

/// Secrets.
impl Operator {
    fn secret_key(&self, user: &Found<PostgresUser>) -> Key {
        let UserSpec { secret_name, .. } = &user.spec;
        let name = format!("{secret_name}-{}", user.meta().name());
        user.key().sibling(if self.settings.keep_secret_name { secret_name } else { &name })
    }

    fn secret_of(&self, user: &Found<PostgresUser>) -> Option<Found<Secret>> {
        self.secrets.get(&self.secret_key(user)).filter(|secret| secret.is_controlled_by(user))
    }

    /// The password of the user's Secret, which is created if there is none. One that the cache lacks counts too.
    async fn ensure_secret(&self, cx: &Context, user: &Found<PostgresUser>) -> Result<String, Error> {
        let secret = match self.secret_of(user) {
            Some(secret) => secret,
            None => {
                let body = self.secret_body(user, &(self.settings.draw)(15));
                cx.create(&self.secrets, self.secret_key(user), &body).owned_by(user).await?
            }
        };
        let password = secret.data.get("PASSWORD").ok_or("the Secret has no PASSWORD")?;
        Ok(String::from_utf8(BASE64_STANDARD.decode(password)?)?)
    }

    fn secret_body(&self, user: &Found<PostgresUser>, password: &str) -> Value {
        let Settings { host, uri_args, .. } = &self.settings;
        let (hostname, port) = host.rsplit_once(':').unwrap_or((host, "5432"));
        let text = |field: &Option<String>| field.clone().unwrap_or_default();
        let (role, login) = (text(&user.status.postgres_role), text(&user.status.postgres_login));
        let database = text(&user.status.database_name);
        let mut data = BTreeMap::from([
            ("POSTGRES_URL", format!("postgresql://{role}:{password}@{host}/{database}")),
            ("POSTGRES_JDBC_URL", format!("jdbc:postgresql://{host}/{database}")),
            (
                "POSTGRES_DOTNET_URL",
                format!("User ID={role};Password={password};Host={hostname};Port={port};Database={database};"),
            ),
            ("HOST", host.clone()),
            ("DATABASE_NAME", database.clone()),
            ("URI_ARGS", uri_args.clone()),
            ("ROLE", role.clone()),
            ("PASSWORD", password.to_owned()),
            ("LOGIN", login),
            ("PORT", port.to_owned()),
            ("HOSTNAME", hostname.to_owned()),
        ]);
        let fields = [("Host", &**host), ("Role", &role), ("Database", &database), ("Password", password)];
        let fields = fields.into_iter().chain([("Hostname", hostname), ("Port", port), ("UriArgs", uri_args)]);
        let render = |template: &String| {
            fields
                .clone()
                .fold(template.clone(), |text, (name, value)| text.replace(&format!("{{{{.{name}}}}}"), value))
        };
        data.extend(user.spec.secret_template.iter().map(|(name, template)| (&**name, render(template))));
        let data: BTreeMap<_, _> = data.into_iter().map(|(name, text)| (name, BASE64_STANDARD.encode(text))).collect();
        let mut labels = BTreeMap::from([("app", user.meta().name())]);
        labels.extend(user.spec.labels.iter().map(|(name, value)| (&**name, &**value)));
        json!({ "metadata": { "labels": labels, "annotations": user.spec.annotations }, "data": data })
    }
}

/// The server.
impl Operator {
    fn is_ours(&self, metadata: &Metadata) -> bool {
        match (metadata.annotations.get(INSTANCE), &self.settings.instance) {
            (Some(named), Some(own)) => named.eq_ignore_ascii_case(own),
            (named, own) => named.is_none() && own.is_none(),
        }
    }

    /// Gives what a role owns in a database to another one, and drops the role.
    async fn drop_role(&self, cx: &Context, database: &str, role: &str, heir: &str) -> Result<(), Error> {
        let reassign = Sql::ReassignOwned(role.to_owned(), heir.to_owned());
        self.execute(cx, database, [reassign, Sql::DropOwned(role.to_owned())]).await?;
        Ok(self.execute(cx, &self.settings.default_database, [Sql::DropRole(role.to_owned())]).await?)
    }

    /// Executes statements one after the other, up to the first that fails.
    async fn execute(
        &self,
        cx: &Context,
        database: &str,
        statements: impl IntoIterator<Item = Sql>,
    ) -> Result<(), SqlError> {
        let statements: Vec<_> = statements.into_iter().collect();
        let (server, database) = (Arc::clone(&self.server), database.to_owned());
        let execute = move || statements.iter().try_for_each(|sql| sql.execute(&*server, &database));
        cx.blocking(execute).await
    }
}
