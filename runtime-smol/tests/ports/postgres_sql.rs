//! The statements that the PostgreSQL operator sends to its server.

use core::error::Error;
use core::fmt;
use std::fmt::Write;

/// A PostgreSQL server.
pub(crate) trait Server: Send + Sync {
    /// Executes a statement in a database.
    ///
    /// # Errors
    /// The server refuses it, or has no such database.
    fn execute(&self, database: &str, sql: &Sql) -> Result<(), SqlError>;
}

/// A statement, with its names as they are.
#[derive(Clone)]
pub(crate) enum Sql {
    CreateGroup(String),
    CreateLogin(String),
    RenameRole(String, String),
    SetPassword(String, String),
    SetRole(String, String),
    /// The first role to the second one, and so on.
    Grant(String, String),
    Revoke(String, String),
    /// From the first role to the second one.
    ReassignOwned(String, String),
    DropOwned(String),
    DropRole(String),
    CreateDatabase(String),
    SetOwner(String, String),
    GrantCreate(String, String),
    RevokeConnect(String),
    Terminate(String),
    DropDatabase(String),
    CreateExtension(String),
    /// The schema, and its owner.
    CreateSchema(String, String),
    /// In a schema, to a role.
    GrantInSchema(String, String, Privileges),
}

/// What a group may do in a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Privileges {
    Read,
    Write,
    All,
}

/// A refusal, with the server's code (`SQLSTATE`).
#[derive(Debug)]
pub(crate) struct SqlError {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

pub(crate) const UNDEFINED_OBJECT: &str = "42704";
pub(crate) const DUPLICATE_OBJECT: &str = "42710";
pub(crate) const DUPLICATE_DATABASE: &str = "42P04";
pub(crate) const UNDEFINED_DATABASE: &str = "3D000";

impl Sql {
    /// Executes the statement. If it is done already, that is no error.
    pub(crate) fn execute(&self, server: &dyn Server, database: &str) -> Result<(), SqlError> {
        match server.execute(database, self) {
            Err(error) if self.done_codes().contains(&error.code) => Ok(()),
            executed => executed,
        }
    }

    /// The refusals that say that nothing is left to do.
    fn done_codes(&self) -> &'static [&'static str] {
        match self {
            Self::CreateGroup(_) | Self::CreateLogin(_) => &[DUPLICATE_OBJECT],
            Self::CreateDatabase(_) => &[DUPLICATE_DATABASE],
            Self::RenameRole(..) | Self::Revoke(..) | Self::DropRole(_) => &[UNDEFINED_OBJECT],
            Self::ReassignOwned(..) | Self::DropOwned(_) => &[UNDEFINED_OBJECT, UNDEFINED_DATABASE],
            Self::RevokeConnect(_) | Self::DropDatabase(_) => &[UNDEFINED_DATABASE],
            _ => &[],
        }
    }
}

/// As the server takes it. The text of `SetPassword` has the password.
impl fmt::Display for Sql {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CreateGroup(role) => write!(f, "CREATE ROLE {}", Name(role)),
            Self::CreateLogin(role) => write!(f, "CREATE ROLE {} WITH LOGIN", Name(role)),
            Self::RenameRole(role, name) => write!(f, "ALTER ROLE {} RENAME TO {}", Name(role), Name(name)),
            Self::SetPassword(role, text) => write!(f, "ALTER ROLE {} WITH PASSWORD {}", Name(role), Text(text)),
            Self::SetRole(role, group) => write!(f, "ALTER ROLE {} SET ROLE {}", Name(role), Name(group)),
            Self::Grant(group, role) => write!(f, "GRANT {} TO {}", Name(group), Name(role)),
            Self::Revoke(group, role) => write!(f, "REVOKE {} FROM {}", Name(group), Name(role)),
            Self::ReassignOwned(role, heir) => write!(f, "REASSIGN OWNED BY {} TO {}", Name(role), Name(heir)),
            Self::DropOwned(role) => write!(f, "DROP OWNED BY {}", Name(role)),
            Self::DropRole(role) => write!(f, "DROP ROLE {}", Name(role)),
            Self::CreateDatabase(name) => write!(f, "CREATE DATABASE {}", Name(name)),
            Self::SetOwner(name, role) => write!(f, "ALTER DATABASE {} OWNER TO {}", Name(name), Name(role)),
            Self::GrantCreate(name, role) => write!(f, "GRANT CREATE ON DATABASE {} TO {}", Name(name), Name(role)),
            Self::RevokeConnect(name) => write!(f, "REVOKE CONNECT ON DATABASE {} FROM public", Name(name)),
            Self::Terminate(name) => write!(
                f,
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = {} AND pid <> pg_backend_pid()",
                Text(name)
            ),
            Self::DropDatabase(name) => write!(f, "DROP DATABASE {}", Name(name)),
            Self::CreateExtension(name) => write!(f, "CREATE EXTENSION IF NOT EXISTS {}", Name(name)),
            Self::CreateSchema(schema, role) => {
                write!(f, "CREATE SCHEMA IF NOT EXISTS {} AUTHORIZATION {}", Name(schema), Name(role))
            }
            Self::GrantInSchema(schema, role, privileges) => privileges.write(f, &Name(schema), &Name(role)),
        }
    }
}

impl Privileges {
    /// Of what there is in the schema, and of what will be.
    fn write(self, f: &mut fmt::Formatter<'_>, schema: &Name<'_>, role: &Name<'_>) -> fmt::Result {
        let of_kinds: &[(&str, &str)] = match self {
            Self::Read => &[("SELECT", "TABLES")],
            Self::Write => &[
                ("SELECT, INSERT, DELETE, UPDATE", "TABLES"),
                ("USAGE, SELECT", "SEQUENCES"),
                ("EXECUTE", "FUNCTIONS"),
            ],
            Self::All => &[("ALL", "TABLES"), ("ALL", "SEQUENCES"), ("ALL", "FUNCTIONS")],
        };
        let on_schema = if self == Self::Read { "USAGE" } else { "USAGE, CREATE" };
        write!(f, "GRANT {on_schema} ON SCHEMA {schema} TO {role}")?;
        of_kinds.iter().try_for_each(|(what, kind)| {
            write!(f, "; GRANT {what} ON ALL {kind} IN SCHEMA {schema} TO {role}")?;
            write!(f, "; ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT {what} ON {kind} TO {role}")
        })
    }
}

/// A name in quotes, each of its own twice.
struct Name<'a>(&'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        quote(f, self.0, '"')
    }
}

/// The same of a text.
struct Text<'a>(&'a str);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        quote(f, self.0, '\'')
    }
}

fn quote(f: &mut fmt::Formatter<'_>, text: &str, quote: char) -> fmt::Result {
    f.write_char(quote)?;
    for character in text.chars() {
        if character == quote {
            f.write_char(quote)?;
        }
        f.write_char(character)?;
    }
    f.write_char(quote)
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (SQLSTATE {})", self.message, self.code)
    }
}

impl Error for SqlError {}
