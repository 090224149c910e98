//! Somebody tries tokens.

use std::net::IpAddr;

use reqwest::header::RETRY_AFTER;
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, StatusCode};
use tempfile::TempDir;

use super::{guarded, token};
use crate::client::HttpServer;

/// Another address of this machine: the whole of 127.0.0.0/8 is.
fn from(address: [u8; 4]) -> Client {
    let client = Client::builder().local_address(IpAddr::from(address)).redirect(Policy::none());
    client.build().unwrap()
}

fn wrong(n: u32) -> String {
    format!("kng_{n:012x}_{n:064x}")
}

/// How many wrong tokens are answered before the address has to wait.
async fn tries(ask: impl Fn(u32) -> RequestBuilder) -> u32 {
    for n in 0..40 {
        let answer = ask(n).send().await.unwrap();
        if answer.status() == StatusCode::TOO_MANY_REQUESTS {
            let wait: u64 = answer.headers()[RETRY_AFTER].to_str().unwrap().parse().unwrap();
            assert!((1..=31).contains(&wait), "{wait} s");
            return n;
        }
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{n}");
    }
    panic!("nobody stops it");
}

async fn status(client: &Client, server: &HttpServer, token: &str) -> StatusCode {
    let request = client.get(server.page("/api/v1/agents")).bearer_auth(token);
    request.send().await.unwrap().status()
}

#[tokio::test]
async fn who_tries_tokens_has_to_wait_at_every_door() {
    let home = TempDir::new().unwrap();
    let (used, unused) = (token(home.path(), "a", "read"), token(home.path(), "b", "read"));
    let server = guarded(home.path());
    let api = from([127, 0, 0, 2]);
    assert_eq!(status(&api, &server, &used).await, StatusCode::OK);
    let page = server.page("/api/v1/agents");
    assert_eq!(tries(|n| api.get(&page).bearer_auth(wrong(n))).await, 10);
    // A header can say anything about where one comes from.
    let spoof = |n: u32| {
        api.get(&page).bearer_auth(wrong(n)).header("X-Forwarded-For", format!("10.0.0.{n}"))
    };
    assert_eq!(tries(spoof).await, 0);
    // At one door, at every door.
    let login = api.post(server.page("/login")).body("token=x").send().await.unwrap();
    assert_eq!(login.status(), StatusCode::TOO_MANY_REQUESTS);
    let unlucky = status(&api, &server, &unused).await;
    assert_eq!(unlucky, StatusCode::TOO_MANY_REQUESTS, "a guess that is right is one, too");
    assert_eq!(status(&api, &server, &used).await, StatusCode::OK, "it was known before");
    let elsewhere = from([127, 0, 0, 3]);
    assert_eq!(status(&elsewhere, &server, &unused).await, StatusCode::OK);

    let mcp = from([127, 0, 0, 4]);
    assert_eq!(tries(|n| mcp.post(&server.url).bearer_auth(wrong(n)).body("{}")).await, 10);
    let (ingest, events) = (from([127, 0, 0, 5]), server.page("/ingest"));
    let send = |n| ingest.post(&events).header("x-mcpeye-secret", wrong(n)).body("{}");
    assert_eq!(tries(send).await, 10);
    let (browser, home) = (from([127, 0, 0, 6]), server.page("/"));
    let open = |n| browser.get(&home).header("Cookie", format!("kenning_token={}", wrong(n)));
    assert_eq!(tries(open).await, 10);
}

#[tokio::test]
async fn the_login_page_counts_wrong_tokens() {
    let home = TempDir::new().unwrap();
    token(home.path(), "a", "read");
    let server = guarded(home.path());
    let browser = from([127, 0, 0, 7]);
    let page = browser.get(server.page("/login")).send().await.unwrap();
    let cookie =
        page.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let html = page.text().await.unwrap();
    let form =
        html.split("name=\"form_token\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let tried = tries(|n| {
        let request = browser.post(server.page("/login")).header("Cookie", &cookie);
        let request = request.header("Content-Type", "application/x-www-form-urlencoded");
        request.body(format!("form_token={form}&token={}", wrong(n)))
    });
    assert_eq!(tried.await, 10);
}
