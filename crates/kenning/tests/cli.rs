//! The program as a user runs it: snapshots of exit code, standard output and standard error.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

struct Workspace {
    parent: TempDir,
}

impl Workspace {
    /// An empty folder to work in, without any settings of this machine.
    fn new() -> Self {
        let parent = TempDir::new().unwrap();
        fs::create_dir(parent.path().join("place")).unwrap();
        Self { parent }
    }

    fn with(files: &[(&str, &str)]) -> Self {
        let workspace = Self::new();
        for (path, text) in files {
            let path = workspace.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        workspace
    }

    fn path(&self) -> PathBuf {
        self.parent.path().join("place").canonicalize().unwrap()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kenning"));
        command.args(args).current_dir(self.path()).stdin(Stdio::null());
        command.env("HOME", self.path().join("home"));
        command.env_remove("XDG_CONFIG_HOME").env("XDG_DATA_HOME", data());
        // No process outlives the test.
        command.env("KENNING_INDEX_BACKGROUND", "false");
        command
    }

    /// Exit code and output, with the paths of this machine replaced.
    fn run(&self, args: &[&str]) -> String {
        self.output(&mut self.command(args))
    }

    fn output(&self, command: &mut Command) -> String {
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let all = format!(
            "exit {}\n--- stdout\n{}--- stderr\n{}",
            output.status.code().unwrap(),
            text(&output.stdout),
            text(&output.stderr)
        );
        let parent = self.path().parent().unwrap().display().to_string();
        all.replace(&self.path().display().to_string(), "[WORKSPACE]").replace(&parent, "[PARENT]")
    }
}

/// The store of all tests, so that vectors are computed once.
fn data() -> &'static Path {
    static DATA: std::sync::OnceLock<TempDir> = std::sync::OnceLock::new();
    DATA.get_or_init(|| TempDir::new().unwrap()).path()
}

fn handbook() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/knowledge").canonicalize().unwrap()
}

/// Runs a command on the example base.
fn on_handbook(args: &[&str]) -> String {
    let workspace = Workspace::new();
    let root = handbook().display().to_string();
    let args: Vec<&str> = ["--root", &root].into_iter().chain(args.iter().copied()).collect();
    workspace.run(&args).replace(&root, "[HANDBOOK]")
}

#[test]
fn index_finds_no_problems_in_the_example_base() {
    insta::assert_snapshot!(on_handbook(&["index", "--check"]));
}

#[test]
fn search_prints_hits_and_json_matches_the_tool() {
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
fn no_results_exit_with_1() {
    insta::assert_snapshot!(on_handbook(&["search", "xylophone", "--type", "keyword"]));
}

#[test]
fn hybrid_search_finds_nodes_without_shared_words() {
    let found = on_handbook(&[
        "search",
        "credentials got published by mistake",
        "-n",
        "1",
        "--json",
        "--wait",
    ]);
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
        "--wait",
    ]);
    assert!(found.starts_with("exit 0"), "{found}");
    assert!(found.contains("guidelines.security.authentication"), "{found}");
    assert!(found.contains("guideline for implement ×1.5"), "{found}");
}

#[test]
fn a_task_without_knowledge_finds_nothing_and_records_no_miss() {
    let workspace = Workspace::with(&[("a.md", "# Bread\nKnead the dough for ten minutes.\n")]);
    let mut discover =
        workspace.command(&["discover", "configure the satellite uplink antenna", "--wait"]);
    discover.env("XDG_DATA_HOME", workspace.path().join("data"));
    insta::assert_snapshot!(workspace.output(&mut discover));
    let mut status = workspace.command(&["status", "--json"]);
    let status = workspace.output(status.env("XDG_DATA_HOME", workspace.path().join("data")));
    assert!(status.contains("\"misses\": 0") && status.contains("\"embedded\": 1"), "{status}");
}

#[test]
fn vectors_are_exported_and_imported() {
    let workspace = Workspace::with(&[("a.md", "# A\nalpha\n## B\nbeta\n")]);
    let with = |data: &str, args: &[&str]| {
        workspace.output(workspace.command(args).env("XDG_DATA_HOME", workspace.path().join(data)))
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
fn hooks_are_installed_and_removed_and_foreign_ones_kept() {
    let workspace = Workspace::new();
    insta::assert_snapshot!("hook_outside_git", workspace.run(&["hook", "install"]));
    assert!(
        Command::new("git")
            .args(["init", "-q"])
            .current_dir(workspace.path())
            .status()
            .unwrap()
            .success()
    );
    insta::assert_snapshot!("hook_installed", workspace.run(&["hook", "install"]));
    insta::assert_snapshot!("hook_installed_again", workspace.run(&["hook", "install"]));
    insta::assert_snapshot!("hook_removed", workspace.run(&["hook", "uninstall"]));
    let foreign = workspace.path().join(".git/hooks/post-merge");
    fs::create_dir_all(foreign.parent().unwrap()).unwrap();
    fs::write(&foreign, "#!/bin/sh\necho mine\n").unwrap();
    insta::assert_snapshot!("hook_foreign", workspace.run(&["hook", "install"]));
    insta::assert_snapshot!("hook_nothing", workspace.run(&["hook", "uninstall"]));
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "#!/bin/sh\necho mine\n");
    assert!(!workspace.path().join(".git/hooks/post-commit").exists());
}

#[test]
fn retrieval_is_evaluated_on_known_answers() {
    let workspace = Workspace::with(&[
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
    let output = workspace.run(&["eval", "retrieval", "set", "--json"]);
    assert!(output.starts_with("exit 0"), "{output}");
    let json = output.split("--- stdout\n").nth(1).unwrap().split("--- stderr").next().unwrap();
    let answer: serde_json::Value = serde_json::from_str(json).unwrap();
    assert!((answer["keyword"]["ndcg_at_10"].as_f64().unwrap() - 0.5).abs() < 1e-9, "{answer}");
    assert!((answer["hybrid"]["ndcg_at_10"].as_f64().unwrap() - 1.0).abs() < 1e-9, "{answer}");
    insta::assert_snapshot!("eval_no_set", workspace.run(&["eval", "retrieval", "nowhere"]));
}

#[test]
fn get_prints_found_nodes_and_reports_missing_ones() {
    insta::assert_snapshot!(on_handbook(&[
        "get",
        "protocols.release.rollbak",
        "plans.multi_tenancy.schema"
    ]));
}

#[test]
fn deps_lists_transitive_dependencies() {
    insta::assert_snapshot!(on_handbook(&["deps", "plans.multi_tenancy.rollout", "--depth", "9"]));
}

#[test]
fn bases_lists_files() {
    insta::assert_snapshot!(on_handbook(&["bases", "--type", "agent_skill"]));
}

#[test]
fn index_notes_a_folder_without_markdown() {
    insta::assert_snapshot!(Workspace::new().run(&["index"]));
}

#[test]
fn index_reports_file_and_line_and_check_fails() {
    let workspace = Workspace::with(&[(
        "a.md",
        "# A\n- type: saga\n- blocked_by: [gone]\n<!-- content -->\n```\n",
    )]);
    insta::assert_snapshot!(workspace.run(&["index", "--check"]));
}

#[test]
fn settings_merge_by_precedence_and_keep_their_origin() {
    let workspace = Workspace::with(&[
        ("kenning.toml", "[server]\nport = 2\nhost = \"localhost\"\nlog_level = \"warn\"\n"),
        (
            "home/.config/kenning/kenning.toml",
            "[server]\nport = 1\nread_only = true\n[discovery.boosts.debug]\nsaga = 2.0\n",
        ),
    ]);
    let mut command = workspace.command(&["config", "show", "--origin", "--log-level", "error"]);
    command.env("KENNING_SERVER_HOST", "127.0.0.1");
    let output = workspace.output(&mut command);
    let line = |key: &str| output.lines().find(|line| line.starts_with(key)).unwrap().to_owned();
    assert_eq!(line("server.port"), "server.port = 2  # [WORKSPACE]/kenning.toml");
    assert_eq!(line("server.host"), "server.host = \"127.0.0.1\"  # KENNING_SERVER_HOST");
    assert_eq!(line("server.log_level"), "server.log_level = \"error\"  # --log-level error");
    assert_eq!(
        line("server.read_only"),
        "server.read_only = true  # [WORKSPACE]/home/.config/kenning/kenning.toml"
    );
    assert_eq!(line("server.transport"), "server.transport = \"stdio\"  # default");
    assert_eq!(
        line("discovery.boosts.debug.saga"),
        "discovery.boosts.debug.saga = 2.0  # [WORKSPACE]/home/.config/kenning/kenning.toml"
    );
    assert_eq!(
        line("discovery.boosts.debug.context"),
        "discovery.boosts.debug.context = 1.5  # default"
    );
}

#[test]
fn invalid_settings_are_reported_with_a_hint() {
    let run = |text: &str| Workspace::with(&[("kenning.toml", text)]).run(&["index"]);
    insta::assert_snapshot!("unknown_key", run("[server]\nprot = 1\n"));
    insta::assert_snapshot!("unknown_base_key", run("[bases.x]\nroot = \".\"\n"));
    insta::assert_snapshot!("unknown_task", run("[discovery.boosts.implment]\nguideline = 2\n"));
    insta::assert_snapshot!("wrong_type", run("[server]\nport = \"many\"\n"));
    insta::assert_snapshot!("out_of_range", run("[discovery]\nmin_relevance_threshold = 1.5\n"));
    insta::assert_snapshot!("negative_boost", run("[discovery.boosts.test]\nplan = -1\n"));
    insta::assert_snapshot!("not_toml", run("[server\n"));
    insta::assert_snapshot!("outside", run("[knowledge_base]\nroot_path = \"..\"\n"));
    insta::assert_snapshot!("missing_root", run("[knowledge_base]\nroot_path = \"nowhere\"\n"));
    insta::assert_snapshot!("bad_pattern", run("[knowledge_base]\nfile_patterns = [\"a[\"]\n"));
    let workspace = Workspace::new();
    let mut command = workspace.command(&["index"]);
    insta::assert_snapshot!("unknown_variable", workspace.output(command.env("KENNING_PORT", "1")));
    let mut command = workspace.command(&["index"]);
    insta::assert_snapshot!(
        "wrong_variable",
        workspace.output(command.env("KENNING_SERVER_PORT", "x"))
    );
}

#[test]
fn several_bases_have_names_and_a_root_overrides_them() {
    let workspace = Workspace::with(&[
        ("one/a.md", "# A\n"),
        ("two/a.md", "# A\n"),
        (
            "kenning.toml",
            "[bases.first]\nroot_path = \"one\"\n[bases.second]\nroot_path = \"two\"\n",
        ),
    ]);
    insta::assert_snapshot!("several", workspace.run(&["bases"]));
    insta::assert_snapshot!("one_more", workspace.run(&["bases", "--root", "third=one"]));
    insta::assert_snapshot!("only_one", workspace.run(&["bases", "--root", "two"]));
    // In a subfolder, the project's file is found and its paths are still relative to it.
    let mut below = workspace.command(&["get", "first:a"]);
    insta::assert_snapshot!(
        "from_below",
        workspace.output(below.current_dir(workspace.path().join("one")))
    );
}

#[test]
fn invalid_serve_options_are_refused() {
    let workspace = Workspace::new();
    insta::assert_snapshot!("not_loopback", workspace.run(&["serve", "--http", "0.0.0.0:0"]));
    insta::assert_snapshot!("bad_port", workspace.run(&["serve", "--http", "127.0.0.1:99999"]));
    insta::assert_snapshot!("bad_toolset", workspace.run(&["serve", "--toolsets", "magic"]));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = workspace.run(&["serve", "--http", &address]).replace(&address, "[TAKEN]");
    insta::assert_snapshot!("taken_port", output);
}

#[test]
fn unknown_verbs_exit_with_2() {
    let output = Workspace::new().command(&["serach"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("'search'"));
}

#[test]
fn man_writes_a_page_per_command() {
    let workspace = Workspace::new();
    let page = workspace.run(&["man"]);
    assert!(page.starts_with("exit 0") && page.contains(".TH kenning 1"), "{page}");
    let folder = TempDir::new().unwrap();
    let written = workspace.run(&["man", folder.path().join("man1").to_str().unwrap()]);
    assert!(written.starts_with("exit 0"), "{written}");
    for page in ["kenning.1", "kenning-serve.1", "kenning-compose-build.1"] {
        assert!(folder.path().join("man1").join(page).is_file(), "{page}");
    }
}

#[test]
fn completions_exist_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = Workspace::new().run(&["completions", shell]);
        assert!(output.starts_with("exit 0") && output.contains("kenning"), "{shell}");
    }
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let workspace = Workspace::new();
    let root = handbook();
    let mut get = workspace.command(&["get", "guidelines.security", "--children"]);
    let mut child =
        get.arg("--root").arg(root).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn own_questions_fail_when_their_answer_is_no_longer_recommended() {
    let workspace = Workspace::with(&[
        (
            "keys.md",
            "# Keys\n## Rotation\nRotate the signing keys every 90 days with `keys rotate`.\n",
        ),
        ("deploy.md", "# Deployment\n## Rollback\nRoll a release back with `deploy undo`.\n"),
        (
            "questions.jsonl",
            "{\"text\": \"rotate the signing keys\", \"answers\": [{\"path\": \"keys.md\", \"heading\": \"Rotation\"}]}\n\
             {\"text\": \"bake sourdough bread\"}\n",
        ),
    ]);
    let mine = ["eval", "mine", "questions.jsonl"];
    let passed = workspace.run(&mine);
    assert!(passed.contains("2 of 2 questions in questions.jsonl are answered"), "{passed}");
    fs::write(workspace.path().join("keys.md"), "# Keys\nWe have keys.\n").unwrap();
    let failed = workspace.run(&mine);
    assert!(failed.contains("1 of 2 questions"), "{failed}");
    assert!(failed.contains("its answer `keys.md`, \"Rotation\", is gone"), "{failed}");
    assert!(failed.starts_with("exit 1\n"), "{failed}");
    let unreadable = workspace.run(&["eval", "mine", "nowhere.jsonl"]);
    assert!(unreadable.contains("cannot read `nowhere.jsonl`"), "{unreadable}");
}
