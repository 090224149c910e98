//! Notifications about changes to the registry by any process.

use std::sync::Arc;
use std::time::Duration;

use sqlx::SqlitePool;
use sqlx::postgres::PgListener;
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::engine::{CHANNEL, Engine};
use crate::{Store, StoreError};

/// How often an `SQLite` file is polled for changes.
const POLL_EVERY: Duration = Duration::from_millis(500);
/// The pause before a lost server is tried again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Ends the notifications when dropped.
#[derive(Debug)]
pub struct Subscription(AbortHandle);

impl Drop for Subscription {
    fn drop(&mut self) {
        self.0.abort();
    }
}

type Callback = Arc<dyn Fn() + Send + Sync>;

impl Store {
    /// Calls `callback` after each change to the registry that this process or another commits from
    /// now on. One call may stand for several changes in quick succession. The callback may block
    /// and may use the store.
    pub fn on_registry_change(
        &self,
        callback: impl Fn() + Send + Sync + 'static,
    ) -> Result<Subscription, StoreError> {
        let callback: Callback = Arc::new(callback);
        let task = match &self.pool {
            Engine::Sqlite(pool) => {
                let pool = pool.clone();
                let seen = self.runtime().block_on(revision(&pool))?;
                self.runtime().spawn(poll(pool, seen, callback))
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

/// `PostgreSQL` notifies of every change. Changes that arrive during a callback lead to one more call.
async fn listen(listener: PgListener, callback: Callback) {
    let (sender, mut receiver) = watch::channel(());
    let call_back = async {
        while receiver.changed().await.is_ok() {
            call(&callback).await;
        }
    };
    tokio::join!(receive(listener, sender), call_back);
}

/// A lost connection counts as a change, because changes may have gone unnoticed meanwhile.
async fn receive(mut listener: PgListener, sender: watch::Sender<()>) {
    loop {
        match listener.try_recv().await {
            Ok(_) => sender.send_replace(()),
            Err(sqlx::Error::PoolClosed) => return,
            Err(error) => {
                tracing::warn!(%error, "cannot receive registry changes of other processes; retrying");
                tokio::time::sleep(RETRY_AFTER).await;
            }
        }
    }
}

/// `SQLite` does not notify other processes.
async fn poll(pool: SqlitePool, mut seen: i64, callback: Callback) {
    loop {
        tokio::time::sleep(POLL_EVERY).await;
        match revision(&pool).await {
            Ok(now) if now == seen => {}
            Ok(now) => {
                seen = now;
                call(&callback).await;
            }
            Err(sqlx::Error::PoolClosed) => return,
            Err(error) => {
                tracing::warn!(%error, "cannot poll for registry changes of other processes; retrying");
            }
        }
    }
}

async fn revision(pool: &SqlitePool) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("SELECT revision FROM registry_changes").fetch_one(pool).await
}

/// On a blocking thread, because a callback may take long.
async fn call(callback: &Callback) {
    let callback = callback.clone();
    if let Err(error) = tokio::task::spawn_blocking(move || callback()).await {
        tracing::warn!(%error, "the callback for a registry change panicked");
    }
}
