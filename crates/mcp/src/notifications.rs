//! Notifications to clients when something changes.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, RoleServer, SubscriptionContext};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

/// A change that clients are notified of.
#[derive(Debug, Clone, Default)]
pub struct Changed {
    /// Resources were added or removed.
    pub list: bool,
    /// Resources that changed, by URI.
    pub uris: Vec<String>,
    /// Families of which any resource may have changed, by scheme.
    pub families: Vec<&'static str>,
}

/// Where changes are announced, and from where every client is notified.
#[derive(Debug, Clone)]
pub struct ChangeFeed {
    sender: broadcast::Sender<Changed>,
    closed: CancellationToken,
}

impl Default for ChangeFeed {
    fn default() -> Self {
        Self { sender: broadcast::Sender::new(64), closed: CancellationToken::new() }
    }
}

impl ChangeFeed {
    pub fn announce(&self, changed: Changed) {
        // An error only means that no client is subscribed.
        let _ = self.sender.send(changed);
    }

    /// Ends all notification streams, which otherwise last as long as their clients want.
    pub fn close(&self) {
        self.closed.cancel();
    }

    /// How many clients are subscribed.
    pub fn subscribers(&self) -> usize {
        self.sender.receiver_count()
    }

    /// The next change. A client that lags behind is told that anything may have changed.
    async fn next(changes: &mut broadcast::Receiver<Changed>) -> Option<Changed> {
        match changes.recv().await {
            Ok(changed) => Some(changed),
            Err(broadcast::error::RecvError::Lagged(_)) => {
                Some(Changed { list: true, ..Changed::default() })
            }
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }

    /// Notifies a client of the `initialize` eras, which subscribes to single URIs.
    pub(crate) async fn notify(&self, peer: Peer<RoleServer>, subscribed: Subscriptions) {
        let mut changes = self.sender.subscribe();
        while let Some(changed) = Self::next(&mut changes).await {
            if changed.list && peer.notify_resource_list_changed().await.is_err() {
                return;
            }
            for uri in subscribed.matching(&changed) {
                let update = ResourceUpdatedNotificationParam::new(uri);
                if peer.notify_resource_updated(update).await.is_err() {
                    return;
                }
            }
        }
    }

    /// Serves `subscriptions/listen` until the client cancels it or the feed is closed.
    pub(crate) async fn stream(&self, context: &SubscriptionContext) {
        let mut changes = self.sender.subscribe();
        let wanted = Subscriptions::from_filter(context.accepted());
        loop {
            let changed = tokio::select! {
                () = context.cancelled() => return,
                () = self.closed.cancelled() => return,
                changed = Self::next(&mut changes) => changed,
            };
            let Some(changed) = changed else { return };
            let sink = context.sink();
            // The sink passes on only what the client asked for.
            if changed.list {
                let _ = sink.notify_resource_list_changed().await;
            }
            for uri in wanted.matching(&changed) {
                let _ = sink.notify_resource_updated(uri).await;
            }
        }
    }
}

/// The URIs that one client is subscribed to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Subscriptions(Arc<Mutex<HashSet<String>>>);

impl Subscriptions {
    fn from_filter(filter: &SubscriptionFilter) -> Self {
        let uris = filter.resource_subscriptions.iter().flatten().cloned().collect();
        Self(Arc::new(Mutex::new(uris)))
    }

    pub(crate) fn add(&self, uri: String) {
        self.lock().insert(uri);
    }

    pub(crate) fn remove(&self, uri: &str) {
        self.lock().remove(uri);
    }

    /// The subscribed URIs that a change touches: files, their sections, and families.
    fn matching(&self, changed: &Changed) -> Vec<String> {
        let file_of = |uri: &str| uri.split_once('#').map_or(uri, |(file, _)| file).to_owned();
        let in_family = |uri: &str| {
            uri.split_once("://").is_some_and(|(scheme, _)| changed.families.contains(&scheme))
        };
        let subscribed = self.lock();
        let touched =
            subscribed.iter().filter(|uri| changed.uris.contains(&file_of(uri)) || in_family(uri));
        touched.cloned().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
