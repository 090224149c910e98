//! The page for people, as a browser asks for it.

use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use reqwest::header::{HeaderMap, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Method, StatusCode};
use serde_json::json;
use tempfile::TempDir;

use crate::client::{HttpServer, kenning};

/// A browser without a script: it keeps cookies and reads forms.
struct Browser {
    server: HttpServer,
    http: reqwest::Client,
    cookies: Vec<String>,
    root: TempDir,
    home: TempDir,
}

struct Shown {
    status: StatusCode,
    headers: HeaderMap,
    html: String,
}

const TRICKY: &str = "# <script>alert(1)</script> & co\n\nA \u{e0041}hidden word about espresso.\n\n\
                      ## Cleaning\n- blocked_by: [beans]\n<!-- content -->\nOn Fridays.\n";

impl Browser {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(prepare: impl Fn(&mut Command)) -> Self {
        let (root, home) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        std::fs::write(root.path().join("COFFEE.md"), TRICKY).unwrap();
        std::fs::write(
            root.path().join("BEANS.md"),
            "# Beans\n- id: beans\n<!-- content -->\nRoasted.\n",
        )
        .unwrap();
        let mut command = kenning(root.path(), &["--http", "127.0.0.1:0"]);
        command.env("HOME", home.path());
        prepare(&mut command);
        let http = reqwest::Client::builder().redirect(Policy::none());
        // The client wants to know whose cryptography it would use for TLS.
        let server = HttpServer::run(command);
        Self { server, http: http.build().unwrap(), cookies: Vec::new(), root, home }
    }

    async fn send(&mut self, method: Method, path: &str, body: Option<String>) -> Shown {
        let mut request = self.http.request(method, self.server.page(path));
        request = request.header("Accept", "text/html").header("Cookie", self.cookies.join("; "));
        if let Some(body) = body {
            let kind = "application/x-www-form-urlencoded";
            request = request.header("Content-Type", kind).body(body);
        }
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        for cookie in headers.get_all("set-cookie") {
            let pair = cookie.to_str().unwrap().split(';').next().unwrap().to_owned();
            let name = pair.split('=').next().unwrap().to_owned();
            self.cookies.retain(|kept| !kept.starts_with(&format!("{name}=")));
            self.cookies.push(pair);
        }
        Shown { status, headers, html: response.text().await.unwrap() }
    }

    async fn open(&mut self, path: &str) -> Shown {
        self.send(Method::GET, path, None).await
    }

    /// Sends a form of the page at `from`.
    async fn submit(&mut self, from: &str, to: &str, fields: &str) -> Shown {
        let token = form_token(&self.open(from).await.html).expect("the page has a form");
        self.send(Method::POST, to, Some(format!("form_token={token}&{fields}"))).await
    }

    async fn api(&self, path: &str, body: &serde_json::Value) -> StatusCode {
        let request = self.http.post(self.server.page(path)).body(body.to_string());
        request.header("Content-Type", "application/json").send().await.unwrap().status()
    }
}

fn form_token(html: &str) -> Option<String> {
    let (_, rest) = html.split_once("name=\"form_token\" value=\"")?;
    rest.split('"').next().map(str::to_owned)
}

impl Shown {
    fn location(&self) -> &str {
        self.headers[LOCATION].to_str().unwrap()
    }
}

/// Tells the server what an agent missed, and returns the gap's id.
async fn gap(browser: &mut Browser, wanted: &str, call: u8) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let now = u64::try_from(now).unwrap();
    let event = json!({
        "callId": format!("00000000-0000-4000-8000-0000000000{call:02}"),
        "toolName": "mcpeye_request_capability",
        "arguments": {"capability": wanted},
        "timestamp": now,
    });
    let batch = json!({"projectId": "shop", "identity": {}, "events": [event]});
    assert_eq!(browser.api("/ingest", &batch).await, StatusCode::OK);
    loop {
        let list = browser.open("/gaps?status=all&project=shop").await.html;
        if let Some((before, _)) = list.split_once(&format!("\">{wanted}</a>")) {
            return before.rsplit("/gaps/").next().unwrap().to_owned();
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

const VIEWS: [&str; 12] = [
    "/",
    "/search",
    "/search?query=espresso",
    "/search?task=clean+the+coffee+machine&task_type=implement&budget=500",
    "/catalog",
    "/registry",
    "/gaps",
    "/usage",
    "/map",
    "/compose",
    "/compose/artifact/agents-md?preview=yes",
    "/compose/content/agents-md",
];

#[tokio::test]
async fn every_view_is_there_and_loads_nothing_from_elsewhere() {
    let mut browser = Browser::new();
    for path in VIEWS.into_iter().chain(["/api", "/catalog/claim?agent=cursor&capability=Hooks"]) {
        let shown = browser.open(path).await;
        assert_eq!(shown.status, StatusCode::OK, "{path}");
        let policy = shown.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none';"), "{path}: {policy}");
        for part in ["frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(shown.headers["x-content-type-options"], "nosniff", "{path}");
        assert_eq!(shown.headers["referrer-policy"], "same-origin", "{path}");
        for forbidden in [" style=\"", "<style", " onclick=", "<script>", "src=\"http"] {
            assert!(!shown.html.contains(forbidden), "{path} has {forbidden}");
        }
    }
    let nothing = browser.open("/nothing").await;
    assert_eq!(nothing.status, StatusCode::NOT_FOUND);
    assert!(nothing.html.contains("there is nothing here"));
    assert_eq!(browser.open("/gaps/g-0").await.status, StatusCode::NOT_FOUND);
    assert_eq!(browser.open("/node?id=no.such").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn assets_are_kept_for_ever_under_their_hash() {
    let mut browser = Browser::new();
    let page = browser.open("/").await.html;
    let names: Vec<&str> =
        page.split("\"/assets/").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(names.len(), 3, "an icon, a stylesheet and a script");
    for (name, kind) in names.into_iter().zip(["image/svg+xml", "text/css", "text/javascript"]) {
        let asset = browser.open(&format!("/assets/{name}")).await;
        assert!(asset.headers["content-type"].to_str().unwrap().starts_with(kind));
        assert!(asset.headers["cache-control"].to_str().unwrap().contains("immutable"));
        let own = asset.html.replace("http://www.w3.org/2000/svg", "");
        assert!(!own.contains("http"), "it needs nobody else");
    }
    assert_eq!(browser.open("/assets/kenning-0.css").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn what_others_wrote_is_shown_and_never_obeyed() {
    let mut browser = Browser::new();
    for path in ["/search?query=espresso", "/map", "/node?id=COFFEE.md"] {
        let shown = browser.open(path).await.html;
        assert!(shown.contains("&lt;script&gt;alert(1)&lt;/script&gt; &amp; co"), "{path}");
        assert!(!shown.contains('\u{e0041}'), "{path}");
    }
    assert!(browser.open("/node?id=COFFEE.md").await.html.contains("\\u{e0041}hidden"));
    let reflected = browser.open("/search?query=%22%3E%3Cscript%3Ealert(2)%3C/script%3E").await;
    assert!(!reflected.html.contains("<script>alert"));
    let said = browser.open("/registry?done=%3Cb%3Eowned").await.html;
    assert!(!said.contains("owned"), "notices are our own words");
    let map = browser.open("/map").await.html;
    assert!(map.contains("</a> waits for <a"), "files that hang together: {map}");
}

#[tokio::test]
async fn the_map_says_when_files_change() {
    let mut browser = Browser::new();
    let before = browser.open("/map/version").await.html;
    kenning_testkit::write_at_once(&browser.root.path().join("TEA.md"), "# Tea\n\nGreen.\n");
    while browser.open("/map/version").await.html == before {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert!(browser.open("/map").await.html.contains("Tea"));
}

#[tokio::test]
async fn forms_of_the_registry() {
    let mut browser = Browser::new();
    let added = browser.submit("/registry", "/registry/agents", "name=deploy+bot&id=7").await;
    assert_eq!(
        (added.status, added.location()),
        (StatusCode::SEE_OTHER, "/registry?agent=7&done=agent")
    );
    let skill = "agent=7&skill=k8s-rollout&version=1.4.0";
    let registered = browser.submit("/registry", "/registry/skills", skill).await;
    assert_eq!(registered.status, StatusCode::SEE_OTHER);
    let page = browser.open(registered.location()).await.html;
    assert!(page.contains("The skill is registered.") && page.contains("k8s-rollout"));
    let off =
        browser.submit("/registry?agent=7", "/registry/deactivate", "agent=7&skill=k8s-rollout");
    assert_eq!(off.await.status, StatusCode::SEE_OTHER);
    assert!(browser.open("/registry?agent=7").await.html.contains("inactive"));
    let found = browser.open("/registry?query=who+can+roll+out+to+kubernetes").await.html;
    assert!(found.contains("Who can do that"));

    let wrong =
        browser.submit("/registry", "/registry/skills", "agent=7&skill=x&version=one").await;
    assert_eq!(wrong.status, StatusCode::BAD_REQUEST);
    assert!(
        wrong.html.contains("Invalid semantic version") && wrong.html.contains("value=\"one\"")
    );
    let nobody = browser.submit("/registry", "/registry/skills", "agent=99&skill=x&version=1.0.0");
    assert_eq!(nobody.await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn forms_of_gaps_and_proposals() {
    let mut browser = Browser::new();
    let id = gap(&mut browser, "print an invoice", 1).await;
    let other = gap(&mut browser, "reserve a meeting room", 2).await;
    let page = browser.open(&format!("/gaps/{id}")).await.html;
    assert!(
        page.contains("mcpeye_request_capability") && page.contains("class=\"asked\""),
        "replay"
    );
    for (verb, fields, state) in [
        ("mute", "", "muted"),
        ("reopen", "because=still+wanted", "reopened"),
        ("close", "by=Ada&note=there+is+a+tool", "closed"),
        ("reopen", "", "reopened"),
    ] {
        let path = format!("/gaps/{id}");
        let done = browser.submit(&path, &format!("{path}/{verb}"), fields).await;
        assert_eq!(done.status, StatusCode::SEE_OTHER, "{verb}: {}", done.html);
        let shown = browser.open(&path).await.html;
        assert!(shown.contains(&format!("\">{state}</span>")), "{verb}");
    }
    let path = format!("/gaps/{id}");
    let unnamed = browser.submit(&path, &format!("{path}/close"), "note=kept").await;
    assert_eq!(unnamed.status, StatusCode::BAD_REQUEST);
    assert!(unnamed.html.contains("value=\"kept\""), "what was filled in stays");
    let merged = browser.submit(&path, &format!("{path}/merge"), &format!("into={other}")).await;
    assert_eq!(merged.location(), format!("/gaps/{other}?done=merged"));

    for (title, verb, state) in
        [("Invoices", "accept", "accepted"), ("Rooms", "reject", "rejected")]
    {
        let proposal = json!({"title": title, "markdown": "Print it.", "targetPath": format!("{title}.md"),
            "gapId": other});
        assert_eq!(browser.api("/api/v1/proposals", &proposal).await, StatusCode::CREATED);
        let list = browser.open("/gaps").await.html;
        let (before, _) = list.split_once(&format!("\">{title}</a>")).unwrap();
        let path = format!("/proposals/{}", before.rsplit("/proposals/").next().unwrap());
        let done = browser.submit(&path, &format!("{path}/{verb}"), "by=Ada").await;
        assert_eq!(done.status, StatusCode::SEE_OTHER, "{}", done.html);
        assert!(browser.open(&path).await.html.contains(&format!("\">{state}</span>")));
    }
    let root = browser.root.path();
    assert_eq!(
        std::fs::read_to_string(root.join("Invoices.md")).unwrap(),
        "# Invoices\n\nPrint it.\n"
    );
    assert!(!root.join("Rooms.md").exists());
}

#[tokio::test]
async fn artifacts_are_looked_at_and_written() {
    let mut browser = Browser::new();
    let page = "/compose/artifact/agents-md";
    let list = browser.open("/compose").await.html;
    for part in
        [page, "jinja2", "code_generation", "ANTHROPIC_API_KEY", "Nothing was generated yet."]
    {
        assert!(list.contains(part), "{part}");
    }
    let looked = browser.open(&format!("{page}?preview=yes&v.title=House+rules")).await.html;
    assert!(looked.contains("# House rules") && looked.contains("a new file"), "{looked}");
    assert!(looked.contains(" tokens</b>"), "how large it is");
    let file = browser.root.path().join("AGENTS.md");
    assert!(!file.exists(), "a preview writes nothing");

    let wrong = browser.open(&format!("{page}?preview=yes&v.max_tokens=many")).await.html;
    assert!(wrong.contains("`max_tokens` has to be a number"), "{wrong}");
    let forged = browser.send(Method::POST, &format!("{page}/build"), Some(String::new())).await;
    assert_eq!(forged.status, StatusCode::FORBIDDEN);
    assert!(!file.exists());

    let build = async |browser: &mut Browser, fields: &str| {
        let token = browser.open(page).await.html;
        let (_, rest) = token.split_once("name=\"form_token\" value=\"").unwrap();
        let token = rest.split('"').next().unwrap().to_owned();
        let body = format!("form_token={token}&{fields}");
        browser.send(Method::POST, &format!("{page}/build"), Some(body)).await
    };
    let built = build(&mut browser, "v.title=House+rules").await;
    assert_eq!(built.status, StatusCode::SEE_OTHER, "{}", built.html);
    assert!(built.location().ends_with("v.title=House%20rules&preview=yes&done=written"));
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("# House rules"));
    let again = build(&mut browser, "v.title=House+rules").await;
    assert!(again.location().ends_with("done=unchanged"), "{}", again.location());

    std::fs::write(&file, "By hand.\n").unwrap();
    let refused = build(&mut browser, "v.title=House+rules").await;
    assert_eq!(refused.status, StatusCode::CONFLICT);
    assert!(refused.html.contains("value=\"House rules\""), "what was filled in stays");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "By hand.\n");
    let forced = build(&mut browser, "v.title=House+rules&force=yes").await;
    assert!(forced.location().ends_with("done=written"));
    assert_eq!(browser.open("/compose/artifact/nothing").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn contents_are_generated_and_kept() {
    let mut browser = Browser::new();
    let page = "/compose/content/agents-md";
    let first = browser.submit(page, &format!("{page}/generate"), "").await;
    assert_eq!(first.status, StatusCode::SEE_OTHER, "{}", first.html);
    let shown = browser.open(first.location()).await.html;
    assert!(shown.contains("The text is generated") && shown.contains("Version of"), "{shown}");
    assert!(shown.contains(">valid</span>"), "its rules are looked at");
    let again = browser.submit(page, &format!("{page}/generate"), "").await;
    assert!(again.location().ends_with("done=unchanged-text"), "{}", again.location());
    assert!(browser.open("/compose").await.html.contains("Newest version"));

    let own = browser.root.path().join(".kenning/compose/content");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("broken.json"), "{\"type\": \"content\", \"id\": \"broken\"}").unwrap();
    assert!(browser.open("/compose").await.html.contains("class=\"problem\""));
    let broken = browser.open("/compose/content/broken").await;
    assert_eq!(broken.status, StatusCode::BAD_REQUEST);
    assert!(broken.html.matches("is a required property").count() > 1, "all that is wrong");
}

#[tokio::test]
async fn compose_over_rest() {
    let mut browser = Browser::new();
    let configs = browser.open("/api/v1/compose/configs?origin=builtin").await.html;
    assert!(configs.contains("\"agents-md\"") && configs.contains("\"contents\""));
    let config = browser.open("/api/v1/compose/configs/content/agents-md").await.html;
    assert!(config.contains("\"type\":\"jinja2\""), "{config}");
    let nothing = browser.open("/api/v1/compose/configs/content/nothing").await;
    assert_eq!(nothing.status, StatusCode::NOT_FOUND);
    let generators = browser.open("/api/v1/list_generators").await.html;
    assert!(generators.contains("\"absent\":[{\"type\":\"code_generation\""), "{generators}");
    let preview = json!({"content_config_id": "agents-md", "context": {"title": "T"}});
    assert_eq!(browser.api("/api/v1/preview_generation", &preview).await, StatusCode::OK);
    let artifact = json!({"artifact_config_id": "agents-md"});
    assert_eq!(browser.api("/api/v1/preview_artifact", &artifact).await, StatusCode::OK);
    assert!(!browser.root.path().join("AGENTS.md").exists());
    let generate = json!({"content_config_id": "agents-md"});
    assert_eq!(browser.api("/api/v1/generate_content", &generate).await, StatusCode::OK);
    assert_eq!(browser.api("/api/v1/assemble_artifact", &artifact).await, StatusCode::OK);
    assert!(browser.root.path().join("AGENTS.md").exists());
    let kept = browser.open("/api/v1/query_ephemeral_storage?content_id=agents-md&retrieval=all");
    assert!(kept.await.html.contains("\"total\":1"));
    let text = browser.open("/api/v1/compose/contents/agents-md").await.html;
    assert!(text.contains("# Working here"));
    let validate = json!({"content_or_config_id": "agents-md"});
    assert_eq!(browser.api("/api/v1/validate_content", &validate).await, StatusCode::OK);
}

#[tokio::test]
async fn very_many_files_are_drawn_as_folders() {
    let mut browser = Browser::with(|command| {
        for number in 0..220 {
            let folder = command.get_current_dir().unwrap().join(format!("team-{}", number % 4));
            std::fs::create_dir_all(&folder).unwrap();
            let waits = if number == 5 { "- blocked_by: [n2]\n" } else { "" };
            let text =
                format!("# Number {number}\n- id: n{number}\n{waits}<!-- content -->\nText.\n");
            std::fs::write(folder.join(format!("{number}.md")), text).unwrap();
        }
    });
    let map = browser.open("/map").await.html;
    assert!(map.contains("folders stand for them"), "{map}");
    assert!(!map.contains("Number 7<"), "no single file is drawn");
    assert!(map.contains("team-1</a> waits for <a") && map.contains("class=\"edge\""));
    let (before, _) = map.split_once("team-2\" data-path").unwrap();
    let address = format!("{}team-2", before.rsplit("href=\"").next().unwrap());
    let folder = browser.open(&address).await.html;
    assert!(folder.contains("Number 2<") && !folder.contains("Number 3<"), "{folder}");
    assert_eq!(browser.open("/map?folder=nowhere").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn nothing_is_done_for_a_form_that_is_not_ours() {
    let mut browser = Browser::new();
    let token = form_token(&browser.open("/registry").await.html).unwrap();
    let post = async |browser: &mut Browser, body: String| {
        browser.send(Method::POST, "/registry/agents", Some(body)).await.status
    };
    assert_eq!(post(&mut browser, "name=a".to_owned()).await, StatusCode::FORBIDDEN);
    let wrong = format!("name=a&form_token={}", "0".repeat(64));
    assert_eq!(post(&mut browser, wrong).await, StatusCode::FORBIDDEN);
    let cookies = std::mem::replace(&mut browser.cookies, vec!["kenning_form=other".to_owned()]);
    let good = format!("name=a&form_token={token}");
    assert_eq!(post(&mut browser, good.clone()).await, StatusCode::FORBIDDEN, "another's cookie");
    browser.cookies = cookies;
    let foreign = browser.http.post(browser.server.page("/registry/agents"));
    let foreign = foreign.header("Origin", "http://evil.example").body(good.clone());
    let foreign = foreign.header("Cookie", browser.cookies.join("; ")).send().await.unwrap();
    assert_eq!(foreign.status(), StatusCode::FORBIDDEN);
    assert!(browser.open("/registry").await.html.contains("There is no agent yet."));
    assert_eq!(post(&mut browser, good).await, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn a_server_that_only_reads_has_no_forms() {
    let mut browser = Browser::with(|command| {
        command.arg("--read-only");
    });
    assert!(form_token(&browser.open("/registry").await.html).is_none());
    let agent = json!({"name": "a"});
    assert_eq!(browser.api("/api/v1/agents", &agent).await, StatusCode::FORBIDDEN);
    let artifact = browser.open("/compose/artifact/agents-md?preview=yes").await.html;
    assert!(artifact.contains("tokens</b>") && !artifact.contains("formmethod"));
    let config = json!({"artifact_config_id": "agents-md"});
    assert_eq!(browser.api("/api/v1/preview_artifact", &config).await, StatusCode::OK);
    assert_eq!(browser.api("/api/v1/assemble_artifact", &config).await, StatusCode::FORBIDDEN);
    assert!(!browser.root.path().join("AGENTS.md").exists());
}

fn create_token(home: &Path, name: &str, scope: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kenning"));
    command.args(["token", "create", name, "--scope", scope]).env("HOME", home);
    command.env_remove("XDG_CONFIG_HOME").env_remove("XDG_DATA_HOME");
    String::from_utf8(command.output().unwrap().stdout).unwrap().trim().to_owned()
}

/// A server that asks for tokens; the first is there before it starts.
fn guarded() -> Browser {
    Browser::with(|command| {
        let home = command.get_envs().find(|(name, _)| *name == "HOME").and_then(|(_, home)| home);
        create_token(Path::new(home.unwrap()), "first", "write");
        command.env("KENNING_SERVER_REQUIRE_TOKEN", "true");
    })
}

#[tokio::test]
async fn with_tokens_one_logs_in_and_sees_what_one_may_do() {
    let mut browser = guarded();
    let (read, write, ingest) = {
        let home = browser.home.path();
        let make = |scope: &str| create_token(home, scope, scope);
        (make("read"), make("write"), make("ingest"))
    };
    let away = browser.open("/gaps?status=all").await;
    assert_eq!(away.status, StatusCode::SEE_OTHER);
    assert_eq!(away.location(), "/login?next=%2Fgaps%3Fstatus%3Dall");
    let login = away.location().to_owned();
    for (token, status) in
        [("nonsense", StatusCode::UNAUTHORIZED), (ingest.as_str(), StatusCode::FORBIDDEN)]
    {
        let refused = browser.submit(&login, &login, &format!("token={token}")).await;
        assert_eq!(refused.status, status);
        assert!(!refused.headers.contains_key("set-cookie") && !refused.html.contains(token));
    }
    let forged = browser.send(Method::POST, "/login", Some(format!("token={write}"))).await;
    assert_eq!(forged.status, StatusCode::FORBIDDEN, "nobody is logged in by another site");

    let inside = browser.submit(&login, &login, &format!("token={read}")).await;
    assert_eq!((inside.status, inside.location()), (StatusCode::SEE_OTHER, "/gaps?status=all"));
    let cookie = inside.headers["set-cookie"].to_str().unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    for path in VIEWS {
        let shown = browser.open(path).await;
        assert_eq!(shown.status, StatusCode::OK, "{path}");
        let forms = shown.html.matches("method=\"post\"").count();
        assert_eq!(forms, 1, "{path}: only the way out");
    }
    let tried = browser.submit("/registry", "/registry/agents", "name=a").await;
    assert_eq!(tried.status, StatusCode::FORBIDDEN);
    let api = browser.open("/api/v1/agents").await;
    assert_eq!(api.status, StatusCode::UNAUTHORIZED, "a cookie opens nothing for programs");

    let out = browser.submit("/", "/logout", "").await;
    assert_eq!(out.location(), "/login");
    assert_eq!(browser.open("/").await.status, StatusCode::SEE_OTHER);
    browser.submit("/login", "/login?next=//evil.example", &format!("token={write}")).await;
    let added = browser.submit("/registry", "/registry/agents", "name=a").await;
    assert_eq!(added.status, StatusCode::SEE_OTHER);
}
