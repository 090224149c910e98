//! Telling of changes to the registry, whoever makes them.

use std::sync::Arc;
use std::time::Duration;

use sqlx::SqlitePool;
use sqlx::postgres::PgListener;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::engine::{CHANNEL, Engine};
use crate::{Store, StoreError};

/// How often a file is asked whether another process has changed it.
const ASK_EVERY: Duration = Duration::from_millis(500);
/// How long to wait before a lost server is asked for again.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// As long as it lives, changes are told of.
#[derive(Debug)]
pub struct Subscription(AbortHandle);

impl Drop for Subscription {
    fn drop(&mut self) {
        self.0.abort();
    }
}

type Callback = Arc<dyn Fn() + Send + Sync>;

impl Store {
    /// Calls back after every change to the registry that is committed from now on, in this
    /// process or another. Changes close to each other may be told of together. The callback may
    /// block and may ask the store.
    pub fn on_registry_change(
        &self,
        callback: impl Fn() + Send + Sync + 'static,
    ) -> Result<Subscription, StoreError> {
        let callback: Callback = Arc::new(callback);
        let task = match &self.pool {
            Engine::Sqlite(pool) => {
                let pool = pool.clone();
                let seen = self.runtime().block_on(changes(&pool))?;
                self.runtime().spawn(ask(pool, seen, callback))
            }
            Engine::Postgres(pool) => {
                let listener = self.runtime().block_on(async {
                    let mut listener = PgListener::connect_with(pool).await?;
                    listener.listen(CHANNEL).await?;
                    Ok::<_, sqlx::Error>(listener)
                })?;
                self.runtime().spawn(listen(listener, callback))
            }
        };
        Ok(Subscription(task.abort_handle()))
    }
}

/// A server tells by itself, once for every change: those that come while one is passed on are passed
/// on together.
async fn listen(listener: PgListener, callback: Callback) {
    let (tell, mut told) = watch::channel(());
    let pass_on = async {
        while told.changed().await.is_ok() {
            call(&callback).await;
        }
    };
    tokio::join!(hear(listener, tell), pass_on);
}

/// After the server was lost there may have been changes that nobody told of: that is told as one.
async fn hear(mut listener: PgListener, tell: watch::Sender<()>) {
    loop {
        match listener.try_recv().await {
            Ok(_) => tell.send_replace(()),
            Err(sqlx::Error::PoolClosed) => return,
            Err(error) => {
                tracing::warn!(%error, "changes of other processes are not seen for now");
                tokio::time::sleep(ASK_AGAIN).await;
            }
        }
    }
}

/// A file tells nobody; it has to be asked.
async fn ask(pool: SqlitePool, mut seen: i64, callback: Callback) {
    loop {
        tokio::time::sleep(ASK_EVERY).await;
        match changes(&pool).await {
            Ok(now) if now == seen => {}
            Ok(now) => {
                seen = now;
                call(&callback).await;
            }
            Err(sqlx::Error::PoolClosed) => return,
            Err(error) => tracing::warn!(%error, "changes of other processes are not seen for now"),
        }
    }
}

async fn changes(pool: &SqlitePool) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("SELECT revision FROM registry_changes").fetch_one(pool).await
}

/// Off the async threads, where it may take its time.
async fn call(callback: &Callback) {
    let callback = callback.clone();
    if let Err(error) = tokio::task::spawn_blocking(move || callback()).await {
        tracing::warn!(%error, "a change could not be told of");
    }
}
