//! `eval retrieval`: measures search on documents and questions with known answers.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Write};

use kenning_knowledge::Snapshot;
use kenning_knowledge::evaluate::{Evaluation, Evidences, FEATURES, Judged, Quality, Reading};
use serde_json::json;

use super::Context;
use super::set::Set;
use crate::cli;
use crate::failure::{Exit, Failure};

/// Candidates of a question that are written for the fit.
const FITTED: usize = 20;

pub(super) fn run(context: &Context, options: &cli::EvalRetrieval) -> Result<Exit, Failure> {
    let set = Set::open(context, &options.folder, options.documents.as_deref())?;
    let snapshot = set.library.snapshot();
    if let Some(path) = &options.features {
        let failed = |error| Failure::usage(format!("cannot write `{}`: {error}", path.display()));
        let mut file = BufWriter::new(File::create(path).map_err(failed)?);
        for question in &set.questions {
            for line in features(&snapshot, question)? {
                writeln!(file, "{line}").map_err(failed)?;
            }
        }
        file.flush().map_err(failed)?;
    }
    let evaluation = snapshot.evaluate(&set.questions, &context.settings.discovery)?;
    context.answer(&evaluation, text)
}

/// What `cargo xtask fit` needs of a question: the features and labels of its best candidates, with
/// its answers and without them, with vectors and before they are computed.
fn features(snapshot: &Snapshot, question: &Judged) -> Result<Vec<serde_json::Value>, Failure> {
    let mut lines = Vec::new();
    let answers: HashSet<&str> = question.relevant.keys().map(String::as_str).collect();
    for (model, evidence) in [("hybrid", Evidences::WordsAndMeaning), ("keyword", Evidences::Words)]
    {
        for removed in [false, true] {
            if removed && answers.is_empty() {
                continue;
            }
            let none = HashSet::new();
            let without = if removed { &answers } else { &none };
            let mut candidates = snapshot.judge_question(&question.question, evidence, without)?;
            candidates.truncate(FITTED);
            let candidates: Vec<_> = candidates
                .iter()
                .map(|one| json!([answers.contains(one.path.as_str()), one.features]))
                .collect();
            lines.push(json!({
                "model": model,
                "removed": removed,
                "absent": question.absent,
                "answers": answers.len(),
                "features": FEATURES,
                "candidates": candidates,
            }));
        }
    }
    Ok(lines)
}

fn text(evaluation: &Evaluation) -> String {
    let row = |name: &str, quality: &Quality| {
        format!(
            "{name:9}{:8.3}{:11.3}{:8.3}{:7.3}{:7.3}\n",
            quality.ndcg_at_10,
            quality.recall_at_10,
            quality.mrr_at_10,
            quality.hit_at_1,
            quality.hit_at_3
        )
    };
    let mut out = format!(
        "{} questions, {} nodes\n          nDCG@10  Recall@10  MRR@10  Hit@1  Hit@3\n",
        evaluation.questions, evaluation.nodes
    );
    out += &row("keyword", &evaluation.keyword);
    out += &row("semantic", &evaluation.semantic);
    out += &row("hybrid", &evaluation.hybrid);
    let calibration = &evaluation.calibration;
    out += &format!(
        "\ncalibration  ECE {:.3}  Brier {:.3} (constant {:.3})  first result {:.2}, right {:.2}\n",
        calibration.ece,
        calibration.brier,
        calibration.brier_of_a_constant,
        calibration.first_score,
        calibration.first_right
    );
    out += "score from  results  mean score  relevant\n";
    for band in &calibration.bands {
        out += &format!(
            "{:10.1}{:9}{:12.3}{:10.3}\n",
            band.from, band.results, band.mean_score, band.relevant_share
        );
    }
    let reading = |name: &str, reading: &Reading| {
        format!(
            "{name:28}{:8}{:8}{:8}{:8.3}\n",
            reading.median_tokens, reading.mean_tokens, reading.p90_tokens, reading.never
        )
    };
    out += "\ntokens until an answer is read  median    mean     p90   never\n";
    out += &reading("files by their words", &evaluation.read_by_words);
    out += &reading("discover_context", &evaluation.read_by_discovery);
    let refusal = &evaluation.refusal;
    out += &format!(
        "\nrefused although there {:.3}\nsure (0.7) although removed {:.3}\n",
        refusal.false_refusals, refusal.removed_but_sure
    );
    for (reason, share) in &refusal.absent_but_sure {
        out += &format!("sure although absent ({reason}) {share:.3}\n");
    }
    out
}
