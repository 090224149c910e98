//! The program as a person uses it: exit code, standard output and standard error together.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

struct Place {
    outside: TempDir,
}

impl Place {
    /// An empty folder to work in, and no settings but those a test makes.
    fn new() -> Self {
        let outside = TempDir::new().unwrap();
        fs::create_dir(outside.path().join("place")).unwrap();
        Self { outside }
    }

    fn with(files: &[(&str, &str)]) -> Self {
        let place = Self::new();
        for (path, text) in files {
            let path = place.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        place
    }

    fn path(&self) -> PathBuf {
        self.outside.path().join("place").canonicalize().unwrap()
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kenning"));
        command.args(words).current_dir(self.path()).stdin(Stdio::null());
        command.env("HOME", self.path().join("home"));
        command.env_remove("XDG_CONFIG_HOME").env("XDG_DATA_HOME", data());
        command
    }

    /// What a command did, with this machine's paths taken out.
    fn run(&self, words: &[&str]) -> String {
        self.shown(&mut self.command(words))
    }

    fn shown(&self, command: &mut Command) -> String {
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let shown = format!(
            "exit {}\n--- stdout\n{}--- stderr\n{}",
            output.status.code().unwrap(),
            text(&output.stdout),
            text(&output.stderr)
        );
        let outside = self.path().parent().unwrap().display().to_string();
        shown.replace(&self.path().display().to_string(), "[PLACE]").replace(&outside, "[OUTSIDE]")
    }
}

/// Where all tests remember vectors, so that they are computed once.
fn data() -> &'static Path {
    static DATA: std::sync::OnceLock<TempDir> = std::sync::OnceLock::new();
    DATA.get_or_init(|| TempDir::new().unwrap()).path()
}

fn handbook() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/knowledge").canonicalize().unwrap()
}

/// A command on the example base.
fn on_handbook(words: &[&str]) -> String {
    let place = Place::new();
    let root = handbook().display().to_string();
    let words: Vec<&str> = ["--root", &root].into_iter().chain(words.iter().copied()).collect();
    place.run(&words).replace(&root, "[HANDBOOK]")
}

#[test]
fn the_example_base_has_nothing_to_mend() {
    insta::assert_snapshot!(on_handbook(&["index", "--check"]));
}

#[test]
fn search_prints_hits_and_json_is_the_tools_answer() {
    insta::assert_snapshot!(on_handbook(&[
        "search",
        "rotate signing keys",
        "-n",
        "2",
        "--type",
        "keyword"
    ]));
    let json = on_handbook(&["search", "rotate signing keys", "-n", "1", "--json"]);
    assert!(json.contains("\"total_available\""), "{json}");
    assert!(json.contains("\"id\": \"guidelines.security.authentication.signing_key_rotation\""));
}

#[test]
fn nothing_found_is_exit_1() {
    insta::assert_snapshot!(on_handbook(&["search", "xylophone", "--type", "keyword"]));
}

#[test]
fn hybrid_search_finds_what_shares_no_word_with_the_query() {
    let found =
        on_handbook(&["search", "credentials got published by mistake", "-n", "1", "--json"]);
    assert!(
        found.contains("\"id\": \"protocols.incident_response.leaked_credentials\""),
        "{found}"
    );
    assert!(found.contains("\"semantic\": 0."), "{found}");
}

#[test]
fn discover_recommends_with_reasons() {
    let found = on_handbook(&[
        "discover",
        "add a login endpoint that issues JWT access tokens",
        "--type",
        "implement",
        "-n",
        "2",
    ]);
    assert!(found.starts_with("exit 0"), "{found}");
    assert!(found.contains("guidelines.security.authentication"), "{found}");
    assert!(found.contains("guideline for implement ×1.5"), "{found}");
}

#[test]
fn an_unknown_task_finds_nothing_and_is_no_miss() {
    let place = Place::with(&[("a.md", "# Bread\nKnead the dough for ten minutes.\n")]);
    let mut discover = place.command(&["discover", "configure the satellite uplink antenna"]);
    discover.env("XDG_DATA_HOME", place.path().join("data"));
    insta::assert_snapshot!(place.shown(&mut discover));
    let mut status = place.command(&["status", "--json"]);
    let status = place.shown(status.env("XDG_DATA_HOME", place.path().join("data")));
    assert!(status.contains("\"misses\": 0") && status.contains("\"embedded\": 1"), "{status}");
}

#[test]
fn vectors_move_between_machines() {
    let place = Place::with(&[("a.md", "# A\nalpha\n## B\nbeta\n")]);
    let with = |data: &str, words: &[&str]| {
        place.shown(place.command(words).env("XDG_DATA_HOME", place.path().join(data)))
    };
    assert!(with("one", &["index", "--embed"]).starts_with("exit 0"));
    insta::assert_snapshot!("export", with("one", &["cache", "export", "vectors.db"]));
    insta::assert_snapshot!("export_twice", with("one", &["cache", "export", "vectors.db"]));
    assert!(with("two", &["status", "--json"]).contains("\"embedded\": 0"));
    insta::assert_snapshot!("import", with("two", &["cache", "import", "vectors.db"]));
    assert!(with("two", &["status", "--json"]).contains("\"embedded\": 2"));
    insta::assert_snapshot!("import_nothing", with("two", &["cache", "import", "gone.db"]));
    insta::assert_snapshot!("import_rubbish", with("two", &["cache", "import", "a.md"]));
}

#[test]
fn hooks_are_installed_beside_those_of_others_and_removed() {
    let place = Place::new();
    insta::assert_snapshot!("hook_outside_git", place.run(&["hook", "install"]));
    assert!(
        Command::new("git")
            .args(["init", "-q"])
            .current_dir(place.path())
            .status()
            .unwrap()
            .success()
    );
    insta::assert_snapshot!("hook_installed", place.run(&["hook", "install"]));
    insta::assert_snapshot!("hook_installed_again", place.run(&["hook", "install"]));
    insta::assert_snapshot!("hook_removed", place.run(&["hook", "uninstall"]));
    let foreign = place.path().join(".git/hooks/post-merge");
    fs::create_dir_all(foreign.parent().unwrap()).unwrap();
    fs::write(&foreign, "#!/bin/sh\necho mine\n").unwrap();
    insta::assert_snapshot!("hook_foreign", place.run(&["hook", "install"]));
    insta::assert_snapshot!("hook_nothing", place.run(&["hook", "uninstall"]));
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "#!/bin/sh\necho mine\n");
    assert!(!place.path().join(".git/hooks/post-commit").exists());
}

#[test]
fn retrieval_is_evaluated_on_known_answers() {
    let place = Place::with(&[
        (
            "set/corpus.jsonl",
            "{\"_id\": \"b/1\", \"title\": \"Bread\", \"text\": \"Knead the dough for ten minutes.\"}\n{\"_id\": \"s\", \"text\": \"Align the antenna with the satellite.\"}\n",
        ),
        (
            "set/queries.jsonl",
            "{\"_id\": \"q1\", \"text\": \"how long to knead dough\"}\n{\"_id\": \"q2\", \"text\": \"pointing a dish at an orbiting relay\"}\n",
        ),
        (
            "set/qrels.jsonl",
            "{\"query_id\": \"q1\", \"corpus_id\": \"b/1\", \"score\": 1}\n{\"query_id\": \"q2\", \"corpus_id\": \"s\", \"score\": 1}\n",
        ),
    ]);
    let shown = place.run(&["eval", "retrieval", "set", "--json"]);
    assert!(shown.starts_with("exit 0"), "{shown}");
    let json = shown.split("--- stdout\n").nth(1).unwrap().split("--- stderr").next().unwrap();
    let answer: serde_json::Value = serde_json::from_str(json).unwrap();
    assert!((answer["keyword"]["ndcg_at_10"].as_f64().unwrap() - 0.5).abs() < 1e-9, "{answer}");
    assert!((answer["hybrid"]["ndcg_at_10"].as_f64().unwrap() - 1.0).abs() < 1e-9, "{answer}");
    insta::assert_snapshot!("eval_no_set", place.run(&["eval", "retrieval", "nowhere"]));
}

#[test]
fn get_prints_what_there_is_and_reports_the_rest() {
    insta::assert_snapshot!(on_handbook(&[
        "get",
        "protocols.release.rollbak",
        "plans.multi_tenancy.schema"
    ]));
}

#[test]
fn deps_show_the_way_to_the_root() {
    insta::assert_snapshot!(on_handbook(&["deps", "plans.multi_tenancy.rollout", "--depth", "9"]));
}

#[test]
fn bases_list_files() {
    insta::assert_snapshot!(on_handbook(&["bases", "--type", "agent_skill"]));
}

#[test]
fn a_folder_without_markdown_says_so() {
    insta::assert_snapshot!(Place::new().run(&["index"]));
}

#[test]
fn index_names_file_and_line_and_check_fails() {
    let place = Place::with(&[(
        "a.md",
        "# A\n- type: saga\n- blocked_by: [gone]\n<!-- content -->\n```\n",
    )]);
    insta::assert_snapshot!(place.run(&["index", "--check"]));
}

#[test]
fn settings_merge_from_weak_to_strong_and_know_their_origin() {
    let place = Place::with(&[
        ("kenning.toml", "[server]\nport = 2\nhost = \"localhost\"\nlog_level = \"warn\"\n"),
        (
            "home/.config/kenning/kenning.toml",
            "[server]\nport = 1\nread_only = true\n[discovery.boosts.debug]\nsaga = 2.0\n",
        ),
    ]);
    let mut command = place.command(&["config", "show", "--origin", "--log-level", "error"]);
    command.env("KENNING_SERVER_HOST", "127.0.0.1");
    let shown = place.shown(&mut command);
    let about = |key: &str| shown.lines().find(|line| line.starts_with(key)).unwrap().to_owned();
    assert_eq!(about("server.port"), "server.port = 2  # [PLACE]/kenning.toml");
    assert_eq!(about("server.host"), "server.host = \"127.0.0.1\"  # KENNING_SERVER_HOST");
    assert_eq!(about("server.log_level"), "server.log_level = \"error\"  # --log-level error");
    assert_eq!(
        about("server.read_only"),
        "server.read_only = true  # [PLACE]/home/.config/kenning/kenning.toml"
    );
    assert_eq!(about("server.transport"), "server.transport = \"stdio\"  # default");
    assert_eq!(
        about("discovery.boosts.debug.saga"),
        "discovery.boosts.debug.saga = 2.0  # [PLACE]/home/.config/kenning/kenning.toml"
    );
    assert_eq!(
        about("discovery.boosts.debug.context"),
        "discovery.boosts.debug.context = 1.5  # default"
    );
}

#[test]
fn wrong_settings_are_named_with_the_way_out() {
    let wrong = |text: &str| Place::with(&[("kenning.toml", text)]).run(&["index"]);
    insta::assert_snapshot!("unknown_key", wrong("[server]\nprot = 1\n"));
    insta::assert_snapshot!("unknown_base_key", wrong("[bases.x]\nroot = \".\"\n"));
    insta::assert_snapshot!("unknown_task", wrong("[discovery.boosts.implment]\nguideline = 2\n"));
    insta::assert_snapshot!("wrong_type", wrong("[server]\nport = \"many\"\n"));
    insta::assert_snapshot!("out_of_range", wrong("[discovery]\nmin_relevance_threshold = 1.5\n"));
    insta::assert_snapshot!("negative_boost", wrong("[discovery.boosts.test]\nplan = -1\n"));
    insta::assert_snapshot!("not_toml", wrong("[server\n"));
    insta::assert_snapshot!("outside", wrong("[knowledge_base]\nroot_path = \"..\"\n"));
    insta::assert_snapshot!("missing_root", wrong("[knowledge_base]\nroot_path = \"nowhere\"\n"));
    insta::assert_snapshot!("bad_pattern", wrong("[knowledge_base]\nfile_patterns = [\"a[\"]\n"));
    let place = Place::new();
    let mut command = place.command(&["index"]);
    insta::assert_snapshot!("unknown_variable", place.shown(command.env("KENNING_PORT", "1")));
    let mut command = place.command(&["index"]);
    insta::assert_snapshot!("wrong_variable", place.shown(command.env("KENNING_SERVER_PORT", "x")));
}

#[test]
fn several_bases_have_names_and_a_root_overrides_them() {
    let place = Place::with(&[
        ("one/a.md", "# A\n"),
        ("two/a.md", "# A\n"),
        (
            "kenning.toml",
            "[bases.first]\nroot_path = \"one\"\n[bases.second]\nroot_path = \"two\"\n",
        ),
    ]);
    insta::assert_snapshot!("several", place.run(&["bases"]));
    insta::assert_snapshot!("one_more", place.run(&["bases", "--root", "third=one"]));
    insta::assert_snapshot!("only_one", place.run(&["bases", "--root", "two"]));
    // From a folder below, the project's file is found and its paths still mean the same.
    let mut below = place.command(&["get", "first:a"]);
    insta::assert_snapshot!("from_below", place.shown(below.current_dir(place.path().join("one"))));
}

#[test]
fn addresses_that_cannot_be_served_are_refused() {
    let place = Place::new();
    insta::assert_snapshot!("not_loopback", place.run(&["serve", "--http", "0.0.0.0:0"]));
    insta::assert_snapshot!("bad_port", place.run(&["serve", "--http", "127.0.0.1:99999"]));
    insta::assert_snapshot!("bad_toolset", place.run(&["serve", "--toolsets", "magic"]));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let shown = place.run(&["serve", "--http", &address]).replace(&address, "[TAKEN]");
    insta::assert_snapshot!("taken_port", shown);
}

#[test]
fn wrong_words_are_exit_2() {
    let output = Place::new().command(&["serach"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("'search'"));
}

#[test]
fn manual_pages_are_made_for_every_command() {
    let place = Place::new();
    let page = place.run(&["man"]);
    assert!(page.starts_with("exit 0") && page.contains(".TH kenning 1"), "{page}");
    let folder = TempDir::new().unwrap();
    let written = place.run(&["man", folder.path().join("man1").to_str().unwrap()]);
    assert!(written.starts_with("exit 0"), "{written}");
    for page in ["kenning.1", "kenning-serve.1", "kenning-compose-build.1"] {
        assert!(folder.path().join("man1").join(page).is_file(), "{page}");
    }
}

#[test]
fn completions_are_made_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let shown = Place::new().run(&["completions", shell]);
        assert!(shown.starts_with("exit 0") && shown.contains("kenning"), "{shell}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = Place::new();
    let root = handbook();
    let mut get = place.command(&["get", "guidelines.security", "--children"]);
    let mut child =
        get.arg("--root").arg(root).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
