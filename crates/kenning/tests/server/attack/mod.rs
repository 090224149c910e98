//! What an attacker would try on the real server. SECURITY.md names the promise behind each test.

mod cross_site;
mod hidden_text;
mod login_throttle;
mod other_users;
mod path_traversal;
mod secret_leaks;
#[cfg(unix)]
mod slow_clients;
