//! An address that guesses tokens has to wait.

use std::net::IpAddr;

use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, StatusCode};

use crate::server::support::{Answer, Project, Server, http_client};

/// A client with another address of this machine: all of 127.0.0.0/8 belongs to it.
fn from(address: [u8; 4]) -> Client {
    let client = http_client().local_address(IpAddr::from(address)).redirect(Policy::none());
    client.build().unwrap()
}

fn wrong_token(n: u32) -> String {
    format!("kng_{n:012x}_{n:064x}")
}

/// How many wrong tokens are answered before the address has to wait.
async fn guesses_allowed(guess: impl Fn(u32) -> RequestBuilder) -> u32 {
    for n in 0..40 {
        let answer = Answer::to(guess(n)).await;
        if answer.status == StatusCode::TOO_MANY_REQUESTS {
            let wait: u64 = answer.header("retry-after").parse().unwrap();
            assert!((1..=31).contains(&wait), "{wait} s");
            return n;
        }
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{n}");
    }
    panic!("40 wrong tokens were answered");
}

async fn status(client: &Client, server: &Server, token: &str) -> StatusCode {
    let request = client.get(server.url("/api/v1/agents")).bearer_auth(token);
    Answer::to(request).await.status
}

#[tokio::test]
async fn throttles_only_the_address_that_guesses_tokens_on_every_route() {
    let project = Project::private_handbook();
    let (used, unused) = (project.token("a", "read"), project.token("b", "read"));
    let server = project.http_with_tokens(&[]);
    let api = from([127, 0, 0, 2]);
    assert_eq!(status(&api, &server, &used).await, StatusCode::OK);
    let agents = server.url("/api/v1/agents");
    assert_eq!(guesses_allowed(|n| api.get(&agents).bearer_auth(wrong_token(n))).await, 10);
    // The client chooses this header, so it must not count as another address.
    let spoofed = |n: u32| {
        let request = api.get(&agents).bearer_auth(wrong_token(n));
        request.header("X-Forwarded-For", format!("10.0.0.{n}"))
    };
    assert_eq!(guesses_allowed(spoofed).await, 0);
    let login = Answer::to(api.post(server.url("/login")).body("token=x")).await;
    assert_eq!(login.status, StatusCode::TOO_MANY_REQUESTS, "on one route, on every route");
    let lucky = status(&api, &server, &unused).await;
    assert_eq!(lucky, StatusCode::TOO_MANY_REQUESTS, "a right guess is a guess, too");
    assert_eq!(status(&api, &server, &used).await, StatusCode::OK, "it was valid before");
    let elsewhere = from([127, 0, 0, 3]);
    assert_eq!(status(&elsewhere, &server, &unused).await, StatusCode::OK);

    let (mcp, url) = (from([127, 0, 0, 4]), server.url("/mcp"));
    let post = |n| mcp.post(&url).bearer_auth(wrong_token(n)).body("{}");
    assert_eq!(guesses_allowed(post).await, 10);
    let (ingest, url) = (from([127, 0, 0, 5]), server.url("/ingest"));
    let send = |n| ingest.post(&url).header("x-mcpeye-secret", wrong_token(n)).body("{}");
    assert_eq!(guesses_allowed(send).await, 10);
    let (browser, url) = (from([127, 0, 0, 6]), server.url("/"));
    let open = |n| browser.get(&url).header("Cookie", format!("kenning_token={}", wrong_token(n)));
    assert_eq!(guesses_allowed(open).await, 10);
}

#[tokio::test]
async fn throttles_guesses_in_the_login_form() {
    let project = Project::private_handbook();
    project.token("a", "read");
    let server = project.http_with_tokens(&[]);
    let browser = from([127, 0, 0, 7]);
    let page = Answer::to(browser.get(server.url("/login"))).await;
    let cookie = page.header("set-cookie").split(';').next().unwrap();
    let form_token = crate::server::pages::form_token(&page.text).unwrap();
    let submit = |n| {
        let request = browser.post(server.url("/login")).header("Cookie", cookie);
        let request = request.header("Content-Type", "application/x-www-form-urlencoded");
        request.body(format!("form_token={form_token}&token={}", wrong_token(n)))
    };
    assert_eq!(guesses_allowed(submit).await, 10);
}
