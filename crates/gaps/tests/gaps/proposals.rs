//! Proposals.

use kenning_gaps::Proposal;
use kenning_gaps::proposal::{ProposalStatus, Verdict};

#[test]
fn checks_title_text_and_path() {
    let check = |title: &str, markdown: &str, path: &str, expected: &str| {
        assert_eq!(
            Proposal::new(title, markdown, path, None, 1).unwrap_err().to_string(),
            expected
        );
    };
    check(" ", "x", "a.md", "`title` is empty");
    check("t", " ", "a.md", "`markdown` is empty");
    check(&"t".repeat(201), "x", "a.md", "`title` is 201 long; it can be 200");
    let path = |path: &str, reason: &str| {
        let expected =
            format!("`{path}` is not a path of a Markdown file below the root: {reason}");
        check("t", "x", path, &expected);
    };
    path("/etc/a.md", "it starts at the root of the file system");
    path("../a.md", "it has a hidden or a dotted name");
    path("a/../b.md", "it has a hidden or a dotted name");
    path(".git/a.md", "it has a hidden or a dotted name");
    path("a//b.md", "it has an empty name");
    path("a\\b.md", "it has a character that not every file system takes");
    path("a\u{1}.md", "it has a character that not every file system takes");
    path("a.txt", "it does not end in `.md`");
}

#[test]
fn a_proposal_is_decided_once() {
    let new =
        || Proposal::new("Rotating  keys", "How it is done.", "ops/ROTATE.md", None, 1).unwrap();
    let mut proposal = new();
    assert_eq!(proposal.markdown, "# Rotating keys\n\nHow it is done.\n");
    assert_eq!(proposal.id, new().id);
    proposal.decide(Verdict::Accept, "ann", 2).unwrap();
    assert_eq!(proposal.status, ProposalStatus::Accepted { at: 2, by: "ann".into() });
    let again = proposal.decide(Verdict::Reject { reason: "no".into() }, "bob", 3).unwrap_err();
    assert_eq!(again.to_string(), format!("proposal `{}` is accepted already", proposal.id));
}
