//! The pages, requested as a browser does.

mod compose;
mod forms;

use reqwest::redirect::Policy;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::server::support::{Answer, DEADLINE, Project, Server, eventually, http_client};

/// A browser without scripts: it keeps cookies and reads forms.
struct Browser {
    server: Server,
    http: reqwest::Client,
    cookies: Vec<String>,
    project: Project,
}

const UNTRUSTED: &str = "# <script>alert(1)</script> & co\n\nA \u{e0041}hidden word about espresso.\n\n\
                      ## Cleaning\n- blocked_by: [beans]\n<!-- content -->\nOn Fridays.\n";

impl Browser {
    fn new() -> Self {
        let project = Self::project();
        Self::of(project.http(&[], &[]), project)
    }

    fn project() -> Project {
        let beans = "# Beans\n- id: beans\n<!-- content -->\nRoasted.\n";
        Project::with(&[("COFFEE.md", UNTRUSTED), ("BEANS.md", beans)])
    }

    fn of(server: Server, project: Project) -> Self {
        let http = http_client().redirect(Policy::none()).build().unwrap();
        Self { server, http, cookies: Vec::new(), project }
    }

    async fn send(&mut self, method: Method, path: &str, form: Option<String>) -> Answer {
        let mut request = self.http.request(method, self.server.url(path));
        request = request.header("Accept", "text/html").header("Cookie", self.cookies.join("; "));
        if let Some(form) = form {
            let kind = "application/x-www-form-urlencoded";
            request = request.header("Content-Type", kind).body(form);
        }
        let answer = Answer::to(request).await;
        for cookie in answer.headers.get_all("set-cookie") {
            let pair = cookie.to_str().unwrap().split(';').next().unwrap().to_owned();
            let name = pair.split('=').next().unwrap().to_owned();
            self.cookies.retain(|kept| !kept.starts_with(&format!("{name}=")));
            self.cookies.push(pair);
        }
        answer
    }

    async fn open(&mut self, path: &str) -> Answer {
        self.send(Method::GET, path, None).await
    }

    /// Sends a form of the page at `from`.
    async fn submit(&mut self, from: &str, to: &str, fields: &str) -> Answer {
        let token = form_token(&self.open(from).await.text).expect("the page has a form");
        self.send(Method::POST, to, Some(format!("form_token={token}&{fields}"))).await
    }

    async fn api(&self, path: &str, body: &Value) -> StatusCode {
        self.server.post(path, body).await.status
    }
}

/// The token against forged requests that a page puts into its forms.
pub(crate) fn form_token(html: &str) -> Option<String> {
    let (_, rest) = html.split_once("name=\"form_token\" value=\"")?;
    rest.split('"').next().map(str::to_owned)
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
async fn every_page_loads_nothing_from_elsewhere() {
    let mut browser = Browser::new();
    for path in VIEWS.into_iter().chain(["/api", "/catalog/claim?agent=cursor&capability=Hooks"]) {
        let page = browser.open(path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        let policy = page.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none';"), "{path}: {policy}");
        for part in ["frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"] {
            assert!(policy.contains(part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(page.header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(page.header("referrer-policy"), "same-origin", "{path}");
        for forbidden in [" style=\"", "<style", " onclick=", "<script>", "src=\"http"] {
            assert!(!page.text.contains(forbidden), "{path} has {forbidden}");
        }
    }
    let nothing = browser.open("/nothing").await;
    assert_eq!(nothing.status, StatusCode::NOT_FOUND);
    assert!(nothing.text.contains("nothing is served at this address"));
    assert_eq!(browser.open("/gaps/g-0").await.status, StatusCode::NOT_FOUND);
    assert_eq!(browser.open("/node?id=no.such").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn assets_are_immutable_and_self_contained() {
    let mut browser = Browser::new();
    let page = browser.open("/").await.text;
    let names: Vec<&str> =
        page.split("\"/assets/").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(names.len(), 3, "an icon, a stylesheet and a script");
    for (name, kind) in names.into_iter().zip(["image/svg+xml", "text/css", "text/javascript"]) {
        let asset = browser.open(&format!("/assets/{name}")).await;
        assert!(asset.header("content-type").starts_with(kind));
        assert!(asset.header("cache-control").contains("immutable"));
        let own = asset.text.replace("http://www.w3.org/2000/svg", "");
        assert!(!own.contains("http"), "it loads nothing else");
    }
    assert_eq!(browser.open("/assets/kenning-0.css").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn untrusted_text_is_never_markup() {
    let mut browser = Browser::new();
    for path in ["/search?query=espresso", "/map", "/node?id=COFFEE.md"] {
        let page = browser.open(path).await.text;
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt; &amp; co"), "{path}");
        assert!(!page.contains('\u{e0041}'), "{path}");
    }
    assert!(browser.open("/node?id=COFFEE.md").await.text.contains("\\u{e0041}hidden"));
    let reflected = browser.open("/search?query=%22%3E%3Cscript%3Ealert(2)%3C/script%3E").await;
    assert!(!reflected.text.contains("<script>alert"));
    let forged = browser.open("/registry?done=%3Cb%3Eowned").await.text;
    assert!(!forged.contains("owned"), "only known notices are shown");
    let map = browser.open("/map").await.text;
    assert!(map.contains("</a> depends on <a"), "dependencies are drawn: {map}");
}

#[tokio::test]
async fn the_map_version_changes_with_the_files() {
    let mut browser = Browser::new();
    let before = browser.open("/map/version").await.text;
    browser.project.write("TEA.md", "# Tea\n\nGreen.\n");
    eventually(DEADLINE, async || {
        (browser.open("/map/version").await.text != before).then_some(())
    })
    .await;
    assert!(browser.open("/map").await.text.contains("Tea"));
}

#[tokio::test]
async fn large_maps_are_drawn_as_folders() {
    let project = Browser::project();
    for number in 0..220 {
        let dependency = if number == 5 { "- blocked_by: [n2]\n" } else { "" };
        let text =
            format!("# Number {number}\n- id: n{number}\n{dependency}<!-- content -->\nText.\n");
        project.write(&format!("team-{}/{number}.md", number % 4), &text);
    }
    let mut browser = Browser::of(project.http(&[], &[]), project);
    let map = browser.open("/map").await.text;
    assert!(map.contains("the map shows folders"), "{map}");
    assert!(!map.contains("Number 7<"), "no single file is drawn");
    assert!(map.contains("team-1</a> depends on <a") && map.contains("class=\"edge\""));
    let (before, _) = map.split_once("team-2\" data-path").unwrap();
    let address = format!("{}team-2", before.rsplit("href=\"").next().unwrap());
    let folder = browser.open(&address).await.text;
    assert!(folder.contains("Number 2<") && !folder.contains("Number 3<"), "{folder}");
    assert_eq!(browser.open("/map?folder=nowhere").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_read_only_server_has_no_forms() {
    let project = Browser::project();
    let mut browser = Browser::of(project.http(&["--read-only"], &[]), project);
    assert!(form_token(&browser.open("/registry").await.text).is_none());
    let agent = json!({"name": "a"});
    assert_eq!(browser.api("/api/v1/agents", &agent).await, StatusCode::FORBIDDEN);
    let artifact = browser.open("/compose/artifact/agents-md?preview=yes").await.text;
    assert!(artifact.contains("tokens</b>") && !artifact.contains("formmethod"));
    let config = json!({"artifact_config_id": "agents-md"});
    assert_eq!(browser.api("/api/v1/preview_artifact", &config).await, StatusCode::OK);
    assert_eq!(browser.api("/api/v1/assemble_artifact", &config).await, StatusCode::FORBIDDEN);
    assert!(!browser.project.root().join("AGENTS.md").exists());
}

#[tokio::test]
async fn pages_need_a_login_and_follow_the_scope_of_the_token() {
    let project = Browser::project();
    project.token("first", "write");
    let server = project.http_with_tokens(&[]);
    let [read, write, ingest] =
        ["read", "write", "ingest"].map(|scope| project.token(scope, scope));
    let mut browser = Browser::of(server, project);
    let redirected = browser.open("/gaps?status=all").await;
    assert_eq!(redirected.status, StatusCode::SEE_OTHER);
    assert_eq!(redirected.header("location"), "/login?next=%2Fgaps%3Fstatus%3Dall");
    let login = redirected.header("location").to_owned();
    for (token, status) in
        [("nonsense", StatusCode::UNAUTHORIZED), (ingest.as_str(), StatusCode::FORBIDDEN)]
    {
        let refused = browser.submit(&login, &login, &format!("token={token}")).await;
        assert_eq!(refused.status, status);
        assert!(!refused.headers.contains_key("set-cookie") && !refused.text.contains(token));
    }
    let forged = browser.send(Method::POST, "/login", Some(format!("token={write}"))).await;
    assert_eq!(forged.status, StatusCode::FORBIDDEN, "another site cannot log a browser in");

    let logged_in = browser.submit(&login, &login, &format!("token={read}")).await;
    assert_eq!(
        (logged_in.status, logged_in.header("location")),
        (StatusCode::SEE_OTHER, "/gaps?status=all")
    );
    let cookie = logged_in.header("set-cookie");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    for path in VIEWS {
        let page = browser.open(path).await;
        assert_eq!(page.status, StatusCode::OK, "{path}");
        let forms = page.text.matches("method=\"post\"").count();
        assert_eq!(forms, 1, "{path}: only the logout form");
    }
    let refused = browser.submit("/registry", "/registry/agents", "name=a").await;
    assert_eq!(refused.status, StatusCode::FORBIDDEN);
    let api = browser.open("/api/v1/agents").await;
    assert_eq!(api.status, StatusCode::UNAUTHORIZED, "cookies are for pages only");

    let logged_out = browser.submit("/", "/logout", "").await;
    assert_eq!(logged_out.header("location"), "/login");
    assert_eq!(browser.open("/").await.status, StatusCode::SEE_OTHER);
    browser.submit("/login", "/login?next=//evil.example", &format!("token={write}")).await;
    let added = browser.submit("/registry", "/registry/agents", "name=a").await;
    assert_eq!(added.status, StatusCode::SEE_OTHER);
}
