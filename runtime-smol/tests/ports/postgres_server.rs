//! A PostgreSQL server in memory, of which there are roles, memberships, databases, schemas and what depends on them.

use crate::ports::postgres_sql::{
    DUPLICATE_DATABASE, DUPLICATE_OBJECT, Privileges, Server, Sql, SqlError, UNDEFINED_DATABASE, UNDEFINED_OBJECT,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

/// What a server has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    pub(crate) roles: BTreeMap<String, Role>,
    pub(crate) databases: BTreeMap<String, Database>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Role {
    pub(crate) can_log_in: bool,
    pub(crate) password: Option<String>,
    pub(crate) groups: BTreeSet<String>,
    pub(crate) set_role: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Database {
    pub(crate) owner: String,
    pub(crate) extensions: BTreeSet<String>,
    pub(crate) schemas: BTreeMap<String, Schema>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Schema {
    pub(crate) owner: String,
    pub(crate) privileges: BTreeMap<String, Privileges>,
}

/// A server with the database and the role `postgres`.
pub(crate) struct SimulatedServer(Mutex<Inside>);

struct Inside {
    contents: Contents,
    executed: Vec<String>,
    /// How many statements it still executes before it stops.
    left: usize,
}

impl SimulatedServer {
    pub(crate) fn new() -> Self {
        let name = || "postgres".to_owned();
        let role = Role { can_log_in: true, ..Role::default() };
        let database = Database { owner: name(), ..Database::default() };
        let contents = Contents { roles: [(name(), role)].into(), databases: [(name(), database)].into() };
        Self(Mutex::new(Inside { contents, executed: Vec::new(), left: usize::MAX }))
    }

    pub(crate) fn contents(&self) -> Contents {
        self.0.lock().unwrap().contents.clone()
    }

    /// The statements since the last call.
    pub(crate) fn take_executed(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap().executed)
    }

    /// Executes so many statements more, and refuses those after them.
    pub(crate) fn stop_after(&self, statements: usize) {
        self.0.lock().unwrap().left = statements;
    }
}

impl Server for SimulatedServer {
    fn execute(&self, database: &str, sql: &Sql) -> Result<(), SqlError> {
        let mut inside = self.0.lock().unwrap();
        if inside.left == 0 {
            return refused("57P03", "the server", "is shutting down");
        }
        inside.left -= 1;
        inside.executed.push(match sql {
            Sql::SetPassword(role, _) => format!("ALTER ROLE {role:?} WITH PASSWORD (secret)"),
            sql => sql.to_string(),
        });
        inside.contents.database(database)?;
        inside.contents.execute(database, sql)
    }
}

impl Contents {
    fn execute(&mut self, database: &str, sql: &Sql) -> Result<(), SqlError> {
        match sql {
            Sql::CreateGroup(role) => self.create_role(role, false)?,
            Sql::CreateLogin(role) => self.create_role(role, true)?,
            Sql::RenameRole(role, name) => self.rename_role(role, name)?,
            Sql::SetPassword(role, password) => self.role(role)?.password = Some(password.clone()),
            Sql::SetRole(role, group) => self.role(role)?.set_role = Some(group.clone()),
            Sql::Grant(group, role) => {
                self.role(group)?;
                self.role(role)?.groups.insert(group.clone());
            }
            Sql::Revoke(group, role) => {
                self.role(group)?;
                self.role(role)?.groups.remove(group);
            }
            Sql::ReassignOwned(role, heir) => {
                self.role(role)?;
                self.role(heir)?;
                self.owners(database).filter(|owner| *owner == role).for_each(|owner| owner.clone_from(heir));
            }
            Sql::DropOwned(role) => {
                self.role(role)?;
                let schemas = &mut self.database(database)?.schemas;
                schemas.retain(|_, schema| schema.owner != *role);
                schemas.values_mut().for_each(|schema| _ = schema.privileges.remove(role));
            }
            Sql::DropRole(role) => self.drop_role(role)?,
            Sql::CreateDatabase(name) if self.databases.contains_key(name) => {
                return refused(DUPLICATE_DATABASE, name, "exists");
            }
            Sql::CreateDatabase(name) => {
                self.databases.insert(name.clone(), Database { owner: "postgres".into(), ..Database::default() });
            }
            Sql::SetOwner(name, role) => {
                self.role(role)?;
                self.database(name)?.owner.clone_from(role);
            }
            Sql::GrantCreate(name, role) => {
                self.role(role)?;
                self.database(name)?;
            }
            Sql::RevokeConnect(name) => drop(self.database(name)?),
            Sql::Terminate(_) => {}
            Sql::DropDatabase(name) => {
                self.database(name)?;
                self.databases.remove(name);
            }
            Sql::CreateExtension(name) if name.starts_with("no-") => return refused("0A000", name, "is not available"),
            Sql::CreateExtension(name) => _ = self.database(database)?.extensions.insert(name.clone()),
            Sql::CreateSchema(schema, role) => {
                self.role(role)?;
                let owned = || Schema { owner: role.clone(), ..Schema::default() };
                self.database(database)?.schemas.entry(schema.clone()).or_insert_with(owned);
            }
            Sql::GrantInSchema(schema, role, privileges) => {
                self.role(role)?;
                let Some(schema) = self.database(database)?.schemas.get_mut(schema) else {
                    return refused("3F000", schema, "does not exist");
                };
                schema.privileges.insert(role.clone(), *privileges);
            }
        }
        Ok(())
    }

    fn role(&mut self, name: &str) -> Result<&mut Role, SqlError> {
        self.roles.get_mut(name).ok_or_else(|| error(UNDEFINED_OBJECT, name, "does not exist"))
    }

    fn database(&mut self, name: &str) -> Result<&mut Database, SqlError> {
        self.databases.get_mut(name).ok_or_else(|| error(UNDEFINED_DATABASE, name, "does not exist"))
    }

    /// The owners of all databases, and of the schemas of one.
    fn owners(&mut self, database: &str) -> impl Iterator<Item = &mut String> {
        self.databases.iter_mut().flat_map(move |(name, inside)| {
            let schemas = inside.schemas.values_mut().filter(move |_| name == database);
            [&mut inside.owner].into_iter().chain(schemas.map(|schema| &mut schema.owner))
        })
    }

    fn create_role(&mut self, name: &str, can_log_in: bool) -> Result<(), SqlError> {
        if self.roles.contains_key(name) {
            return refused(DUPLICATE_OBJECT, name, "exists");
        }
        self.roles.insert(name.to_owned(), Role { can_log_in, ..Role::default() });
        Ok(())
    }

    fn rename_role(&mut self, known: &str, name: &str) -> Result<(), SqlError> {
        let role = self.role(known)?.clone();
        self.create_role(name, false)?;
        self.roles.remove(known);
        self.roles.insert(name.to_owned(), role);
        let rename = |text: &mut String| {
            if text == known {
                name.clone_into(text);
            }
        };
        for role in self.roles.values_mut() {
            role.set_role.iter_mut().for_each(rename);
            if role.groups.remove(known) {
                role.groups.insert(name.to_owned());
            }
        }
        for database in self.databases.values_mut() {
            rename(&mut database.owner);
            for schema in database.schemas.values_mut() {
                rename(&mut schema.owner);
                let moved = schema.privileges.remove(known);
                schema.privileges.extend(moved.map(|privileges| (name.to_owned(), privileges)));
            }
        }
        Ok(())
    }

    fn drop_role(&mut self, name: &str) -> Result<(), SqlError> {
        self.role(name)?;
        let needs = |schema: &Schema| schema.owner == name || schema.privileges.contains_key(name);
        let is_needed = |database: &Database| database.owner == name || database.schemas.values().any(needs);
        if self.databases.values().any(is_needed) {
            return refused("2BP01", name, "cannot be dropped because some objects depend on it");
        }
        self.roles.remove(name);
        self.roles.values_mut().for_each(|role| _ = role.groups.remove(name));
        Ok(())
    }
}

fn refused(code: &'static str, name: &str, why: &str) -> Result<(), SqlError> {
    Err(error(code, name, why))
}

fn error(code: &'static str, name: &str, why: &str) -> SqlError {
    SqlError { code, message: format!("{name} {why}") }
}
