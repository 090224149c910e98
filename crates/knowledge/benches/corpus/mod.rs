//! Generated Markdown for the benchmarks.

use std::fs;
use std::sync::LazyLock;

use tempfile::TempDir;

/// Sections of some 120 words, with word frequencies as in prose.
pub(crate) fn write(files: usize, sections: usize) -> TempDir {
    let folder = TempDir::new().expect("a folder");
    let mut random = Random(42);
    for file in 0..files {
        let mut text =
            format!("# Document {file}\n- id: doc{file}\n- status: active\n<!-- content -->\n");
        for section in 0..sections {
            text += &format!("## {} {} {section}\n", random.word(), random.word());
            for n in 0..120 {
                text += &random.word();
                text.push(if n % 12 == 11 { '\n' } else { ' ' });
            }
            text += "\n```sh\n# not a heading\necho done\n```\n";
        }
        let path = folder.path().join(format!("part-{}/doc-{file}.md", file % 20));
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    folder
}

const WORDS: &str = "the of to a service request data user cluster node pod container deploy \
    deployment storage volume network policy security token secret key rotate backup restore \
    failure recover recovery retry timeout queue worker job schedule index query table column \
    migration schema tenant billing invoice order shipment carrier parcel label webhook event \
    stream log metric trace alert incident runbook release rollback canary feature flag test \
    fixture snapshot golden review comment style naming error result option trait module crate \
    binary package registry version upgrade downgrade compatibility protocol server client";

static KNOWN: LazyLock<Vec<&str>> = LazyLock::new(|| WORDS.split_whitespace().collect());

/// Number of different words.
const VOCABULARY: f64 = 30_000.0;
/// Frequency ranks of the first and the last of [`WORDS`].
const RANKS: std::ops::Range<usize> = 50..1_500;

pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A word by Zipf's law: the n-th most common word is n times rarer than the most common one.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank lies between 1 and the size of the vocabulary"
    )]
    fn word(&mut self) -> String {
        let even = (self.next() % (1 << 53)) as f64 / (1_u64 << 53) as f64;
        let rank = VOCABULARY.powf(even) as usize;
        let step = RANKS.len() / KNOWN.len();
        let known = rank.checked_sub(RANKS.start).filter(|above| above % step == 0);
        match known.and_then(|above| KNOWN.get(above / step)) {
            Some(word) => (*word).to_owned(),
            None => format!("word{rank}"),
        }
    }
}
