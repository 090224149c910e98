//! The address of a store.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use sqlx::postgres::PgConnectOptions;

/// A folder with an `SQLite` file, or a `PostgreSQL` database.
#[derive(Clone)]
pub enum Location {
    Folder(PathBuf),
    /// Holds a password, which is why `Debug` and `Display` are written by hand.
    Postgres(Box<PgConnectOptions>),
}

/// Why a text is not a location. It does not repeat the text, which may hold a password.
#[derive(Debug, thiserror::Error)]
pub enum LocationError {
    #[error("the store's address is not a PostgreSQL URL: {0}")]
    Postgres(String),
    #[error("`{0}:` is not a known kind of store; use a folder, or postgres://USER@HOST/DATABASE")]
    Scheme(String),
    #[error("the store's address is empty")]
    Empty,
}

impl FromStr for Location {
    type Err = LocationError;

    /// `postgres://…`, or `postgresql://…`; a folder, or `sqlite://` and a folder.
    fn from_str(text: &str) -> Result<Self, LocationError> {
        let text = text.trim();
        match text.split_once("://") {
            Some(("postgres" | "postgresql", _)) => {
                let options = PgConnectOptions::from_str(text);
                let options = options.map_err(|error| LocationError::Postgres(reason(&error)))?;
                let options = options.application_name("kenning");
                Ok(Self::Postgres(Box::new(options)))
            }
            Some(("sqlite", folder)) if !folder.is_empty() => Ok(Self::Folder(folder.into())),
            Some((scheme, _)) => Err(LocationError::Scheme(scheme.to_owned())),
            None if text.is_empty() => Err(LocationError::Empty),
            None => Ok(Self::Folder(text.into())),
        }
    }
}

fn reason(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Configuration(reason) => reason.to_string(),
        _ => "it cannot be read".to_owned(),
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => write!(f, "{}", folder.display()),
            Self::Postgres(options) => {
                write!(f, "postgres://{}@", options.get_username())?;
                match options.get_socket() {
                    Some(socket) => write!(f, "{}", socket.display())?,
                    None => write!(f, "{}:{}", options.get_host(), options.get_port())?,
                }
                write!(f, "/{}", options.get_database().unwrap_or(options.get_username()))
            }
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Location({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, shown: &str) {
        let location: Location = text.parse().unwrap();
        assert_eq!(location.to_string(), shown);
        assert_eq!(format!("{location:?}"), format!("Location({shown})"));
    }

    #[test]
    fn passwords_are_never_shown() {
        check("postgres://me:s3cret@db:5433/team", "postgres://me@db:5433/team");
        check("postgresql://me@db/team?password=s3cret", "postgres://me@db:5432/team");
        check("postgres://me:s3cret@%2Frun%2Fpg/team", "postgres://me@/run/pg/team");
        for bad in ["postgres://me:s3cret@db:port/team", "mysql://me:s3cret@db/team", "s3cret://"] {
            let error = bad.parse::<Location>().unwrap_err();
            assert!(!format!("{error} {error:?}").contains("me:s3cret"), "{error:?}");
        }
    }

    #[test]
    fn other_texts_are_folders() {
        check("/var/lib/kenning", "/var/lib/kenning");
        check("sqlite:///var/lib/kenning", "/var/lib/kenning");
        check("data", "data");
        assert!("".parse::<Location>().is_err());
    }
}
