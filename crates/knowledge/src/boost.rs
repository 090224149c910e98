//! Boosts of recommendations: task type, status, recency, and proximity to the current file.

use chrono::Utc;

use crate::discover::{DiscoverRequest, Discovery, TaskType};
use crate::node::NodeRef;
use crate::proximity::proximity;
use crate::role::{Role, is_about_releases};
use crate::text::parse_date;

/// Lowers deprecated nodes, but keeps them: they may explain existing code.
const DEPRECATED_BOOST: f64 = 0.5;
/// For the file being worked on; less for files that are further away.
const MAX_PROXIMITY_BOOST: f64 = 1.3;

/// A reason to rank a node higher or lower than its text alone.
pub(crate) enum Boost {
    Kind,
    Active,
    Deprecated,
    Checked { days_ago: i64 },
    Near,
    Role,
}

/// The boosts of a node for a task, with their factors; those that change nothing are left out.
pub(crate) fn boosts(
    node: NodeRef<'_>,
    request: &DiscoverRequest,
    settings: &Discovery,
) -> Vec<(f64, Boost)> {
    let mut boosts = Vec::new();
    if let Some(task) = request.task_type {
        let of_task = settings.boosts.get(task.name());
        let factor = of_task.and_then(|boosts| boosts.get(node.kind())).copied().unwrap_or(1.0);
        boosts.push((factor, Boost::Kind));
    }
    match node.status() {
        "active" => boosts.push((settings.boost_active_status, Boost::Active)),
        "deprecated" => boosts.push((DEPRECATED_BOOST, Boost::Deprecated)),
        _ => {}
    }
    if let Some(days_ago) = age_in_days(node)
        && days_ago <= i64::from(settings.boost_recent_update_days)
    {
        boosts.push((settings.boost_recent_update_factor, Boost::Checked { days_ago }));
    }
    if let Some(file) = &request.current_file {
        let nearness = proximity(file, node.document().path.as_str());
        boosts.push((1.0 + (MAX_PROXIMITY_BOOST - 1.0) * nearness, Boost::Near));
    }
    if node.role() != Role::Guidance {
        let factor = if is_about(node.role(), &request.task_description) {
            1.0
        } else {
            role_factor(node.role())
        };
        boosts.push((factor, Boost::Role));
    }
    boosts.retain(|(factor, _)| (factor - 1.0).abs() > f64::EPSILON);
    boosts
}

impl Boost {
    pub(crate) fn reason(&self, node: NodeRef<'_>, request: &DiscoverRequest) -> String {
        match self {
            Self::Kind => {
                format!("{} for {}", node.kind(), request.task_type.map_or("", TaskType::name))
            }
            Self::Active => "active".to_owned(),
            Self::Deprecated => "deprecated".to_owned(),
            Self::Checked { days_ago } => format!("checked {days_ago} days ago"),
            Self::Role => node.role().reason().to_owned(),
            Self::Near => format!("near {}", request.current_file.as_deref().unwrap_or_default()),
        }
    }
}

/// What is no guidance weighs little for a task. Indexes are the hardest to recognise.
fn role_factor(role: Role) -> f64 {
    match role {
        Role::Guidance => 1.0,
        Role::Index => 0.5,
        _ => 0.15,
    }
}

/// Whether the task is about such texts.
fn is_about(role: Role, task: &str) -> bool {
    role == Role::Changelog && is_about_releases(task)
}

/// Days since `last_checked`; a date in the future counts as today.
fn age_in_days(node: NodeRef<'_>) -> Option<i64> {
    let checked = parse_date(node.section().last_checked.as_deref()?)?;
    Some((Utc::now().date_naive() - checked).num_days().max(0))
}
