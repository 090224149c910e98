//! Kenning beside other MCP servers for knowledge: the same files, the same model where they accept one,
//! and the same queries over the same protocol.

pub(super) mod peers;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use self::peers::{Edit, Peer, Place};
use super::corpus::{self, Corpus};
use super::{folder, percentile, table_head};
use crate::client::StdioClient;
use crate::process::{self, Usage};
use crate::run::root;
use crate::server::Build;

/// As many as the slowest server indexes in a few minutes.
const FILES: usize = 60;
const QUESTIONS: usize = 100;
/// A step that takes longer hangs.
const LIMIT: Duration = Duration::from_mins(6);
const SESSION_LIMIT: Duration = Duration::from_mins(15);
const UNTIL_IDLE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(10);
const QUERY: &str = "zebra striped canary rollouts";
/// Long enough for servers that skip paragraphs of less than fifty characters.
const EDIT: &str = "\n## An edit\n\nA paragraph about zebra striped canary rollouts, of which nothing \
    was written before.\n";

/// What was measured of one server.
pub(super) struct Row {
    name: String,
    search: &'static str,
    pub(super) index: Usage,
    again: Usage,
    pub(super) first_answer_s: f64,
    pub(super) query_p50_ms: f64,
    query_p99_ms: f64,
    /// Queries whose file was in the answer.
    found: usize,
    pub(super) memory_mb: f64,
    pub(super) edit_s: f64,
    edit_cpu_s: f64,
    tools: usize,
    list_bytes: usize,
    answer_bytes: usize,
    /// Source files that the server changed.
    changed: usize,
}

pub(super) fn measure() -> Result<String> {
    Build::Release.compile()?;
    let folder = folder()?;
    let corpus = corpus::gather(folder.path(), FILES, QUESTIONS)?;
    peers::install_models(folder.path())?;
    let (mut rows, mut failed) = (Vec::new(), String::new());
    for (name, make) in peers::ALL {
        let row = Place::new(folder.path(), name, &corpus)
            .and_then(|place| make(&place))
            .and_then(|peer| row(peer, &corpus, folder.path()).with_context(|| name.to_owned()));
        match row {
            Ok(row) => rows.push(row),
            Err(error) if rows.is_empty() => return Err(error),
            Err(error) => {
                eprintln!("{error:?}");
                let cause = error.root_cause().to_string();
                let cause = cause.replace(&root().display().to_string(), "…");
                let cause = cause.lines().next().unwrap_or_default().to_owned();
                failed += &format!("\n{name} could not be measured: {cause}.\n");
            }
        }
    }
    ensure!(rows.len() > 2, "too few servers ran:{failed}");
    Ok(table(&corpus, &rows) + &failed)
}

/// Indexes, starts the server, asks all questions, and edits a file.
pub(super) fn row(mut peer: Peer, corpus: &Corpus, folder: &Path) -> Result<Row> {
    let log = folder.join("log.txt");
    let index = process::measure(&mut peer.index, &log, LIMIT).context("the index from nothing")?;
    let again = process::measure(&mut peer.again, &log, LIMIT).context("the index again")?;
    let changed = changed(&peer.files, corpus)?;

    let began = Instant::now();
    let mut client = StdioClient::start(peer.serve.stderr(Stdio::null()), SESSION_LIMIT)?;
    ask(&mut client, &peer, &corpus.questions[0].text)?;
    let first_answer_s = began.elapsed().as_secs_f64();

    let listed = client.request("tools/list", &json!({}))?;
    let (mut times, mut found, mut answer_bytes) = (Vec::new(), 0, 0);
    for question in &corpus.questions {
        let began = Instant::now();
        let answer = ask(&mut client, &peer, &question.text)?;
        times.push(began.elapsed());
        let answer = answer.to_string();
        answer_bytes += answer.len();
        found += usize::from(question.from.iter().any(|file| is_named(&answer, file)));
    }
    times.sort_unstable();
    std::thread::sleep(UNTIL_IDLE);
    let memory_mb = process::memory_mb(client.pid());
    let (edit_s, edit_cpu_s) = edit(&mut client, &mut peer, &log).context("the edit")?;
    Ok(Row {
        search: peer.search,
        index,
        again,
        first_answer_s,
        query_p50_ms: percentile(&times, 50) * 1e3,
        query_p99_ms: percentile(&times, 99) * 1e3,
        found,
        memory_mb,
        edit_s,
        edit_cpu_s,
        tools: listed["tools"].as_array().map_or(0, Vec::len),
        list_bytes: listed.to_string().len(),
        answer_bytes: answer_bytes / corpus.questions.len(),
        changed,
        name: peer.name,
    })
}

/// Repeats a query until the answer used the whole index: ours says when it did not.
fn ask(client: &mut StdioClient, peer: &Peer, query: &str) -> Result<Value> {
    let call = (peer.call)(query);
    let began = Instant::now();
    loop {
        let answer = client.request("tools/call", &call)?;
        ensure!(answer["isError"] != true, "{answer}");
        if answer["structuredContent"].get("message").is_none() {
            return Ok(answer);
        }
        ensure!(began.elapsed() < LIMIT, "it never used the whole index: {answer}");
        std::thread::sleep(POLL);
    }
}

/// Seconds from the edit of a file until a query finds it, and the CPU time of that.
fn edit(client: &mut StdioClient, peer: &mut Peer, log: &Path) -> Result<(f64, f64)> {
    let before = ask(client, peer, QUERY)?.to_string();
    let mut files: Vec<PathBuf> =
        fs::read_dir(&peer.files)?.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let stem = |file: &PathBuf| file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let file = files.into_iter().find(|file| !is_named(&before, &stem(file)));
    let file = file.context("every file is in the answer before the edit")?;
    let text = fs::read_to_string(&file)? + EDIT;
    let cpu = process::cpu_s(client.pid());
    let began = Instant::now();
    fs::write(&file, text)?;
    let mut command_cpu_s = 0.0;
    match peer.edit {
        Edit::Watched => {}
        Edit::Job { start, status } => finish_job(client, start, status)?,
        Edit::Command => command_cpu_s = process::measure(&mut peer.again, log, LIMIT)?.cpu_s,
    }
    loop {
        let asked = Instant::now();
        if is_named(&ask(client, peer, QUERY)?.to_string(), &stem(&file)) {
            break;
        }
        ensure!(began.elapsed() < LIMIT, "the edit was not found");
        // Queries must not keep a slow server from indexing.
        std::thread::sleep(POLL.max(asked.elapsed()));
    }
    Ok((began.elapsed().as_secs_f64(), process::cpu_s(client.pid()) - cpu + command_cpu_s))
}

/// Starts a job in a server and waits for its end.
fn finish_job(client: &mut StdioClient, start: &str, status: &str) -> Result<()> {
    let mut call = |name: &str, arguments: Value| -> Result<Value> {
        let answer =
            client.request("tools/call", &json!({"name": name, "arguments": arguments}))?;
        Ok(serde_json::from_str(answer["content"][0]["text"].as_str().unwrap_or_default())?)
    };
    let id = call(start, json!({}))?["jobId"].take();
    loop {
        let job = call(status, json!({"jobId": id}))?;
        if job["state"] != "running" {
            ensure!(job["state"] == "succeeded", "{job}");
            return Ok(());
        }
        std::thread::sleep(POLL);
    }
}

/// Whether an answer contains a file's name, not as a part of a longer name.
fn is_named(answer: &str, file: &str) -> bool {
    answer.match_indices(file).any(|(at, _)| {
        let continues = |letter: char| letter.is_alphanumeric() || letter == '-' || letter == '_';
        let before = answer[..at].chars().next_back();
        let after = &answer[at + file.len()..];
        // After a dot there may be more of a version, or the file's extension.
        let version = after.strip_prefix('.').unwrap_or_default();
        !before.is_some_and(continues)
            && !after.starts_with(continues)
            && !version.starts_with(|digit: char| digit.is_ascii_digit())
    })
}

fn changed(files: &Path, corpus: &Corpus) -> Result<usize> {
    let mut changed = 0;
    for original in &corpus.files {
        let copy = files.join(original.file_name().unwrap_or_default());
        changed += usize::from(fs::read(copy).ok() != Some(fs::read(original)?));
    }
    Ok(changed)
}

fn table(corpus: &Corpus, rows: &[Row]) -> String {
    let ours = &rows[0];
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    let mut out = table_head(&names);
    let mut line = |what: &str, cell: &dyn Fn(&Row) -> String| {
        let cells: Vec<String> = rows.iter().map(cell).collect();
        out += &format!("| {what} | {} |\n", cells.join(" | "));
    };
    let beside = |of: fn(&Row) -> f64, unit: &'static str| {
        let base = of(ours);
        move |row: &Row| {
            let (value, is_ours) = (of(row), row.name == "Kenning");
            let times = if is_ours { String::new() } else { format!(" ({:.1}×)", value / base) };
            format!("{value:.2} {unit}{times}")
        }
    };
    line("search", &|row| row.search.to_owned());
    line("index from nothing", &beside(|row| row.index.wall_s, "s"));
    line("the same, CPU", &beside(|row| row.index.cpu_s, "s"));
    line("peak memory of that", &beside(|row| row.index.peak_mb, "MB"));
    line("index again, nothing to do", &beside(|row| row.again.wall_s, "s"));
    line("the same, CPU", &beside(|row| row.again.cpu_s, "s"));
    line("start to first answer", &beside(|row| row.first_answer_s, "s"));
    line("query, median", &beside(|row| row.query_p50_ms, "ms"));
    line("query, 99th percentile", &beside(|row| row.query_p99_ms, "ms"));
    line("the sentence's file is in the answer", &|row| {
        format!("{} of {}", row.found, corpus.questions.len())
    });
    line("size of an answer, mean", &beside(|row| row.answer_bytes as f64 / 1e3, "kB"));
    line("memory of the server after that", &beside(|row| row.memory_mb, "MB"));
    line("one section added, until found", &beside(|row| row.edit_s, "s"));
    line("the same, CPU", &beside(|row| row.edit_cpu_s, "s"));
    line("tools", &|row| row.tools.to_string());
    line("their list", &beside(|row| row.list_bytes as f64 / 1e3, "kB"));
    line("source files it changed", &|row| row.changed.to_string());
    out
}

#[cfg(test)]
mod tests {
    use super::is_named;

    #[test]
    fn a_file_is_named_only_by_its_whole_name() {
        let answer = r#"{"path":"corpus/memchr-2.7.1.md","title":"bstr-1.12.0"}"#;
        assert!(is_named(answer, "memchr-2.7.1"));
        assert!(is_named(answer, "bstr-1.12.0"));
        for other in ["memchr-2.7", "chr-2.7.1", "bstr-1.12", "bstr-1.1"] {
            assert!(!is_named(answer, other), "{other}");
        }
    }
}
