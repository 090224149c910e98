//! What coding agents can do: `lookup`, `compare`, `capabilities`, `sources`, `catalog check`.

use std::sync::OnceLock;

use chrono::{NaiveDate, Utc};
use kenning_catalog::Catalog;
use kenning_catalog::catalog::Overlay;
use kenning_catalog::check::{Fault, Severity, check_folder};
use kenning_catalog::compare::{CompareRequest, CompareResponse, Compared};
use kenning_catalog::list::{ListRequest, ListResponse, Listed};
use kenning_catalog::lookup::{
    Available, KnownCapability, LookupRequest, LookupResponse, PossibleMatch,
};
use kenning_catalog::sources::{Freshness, SourcesRequest, SourcesResponse};
use kenning_embed::Embedder;

use super::{Context, links};
use crate::cli;
use crate::failure::{Exit, Failure};

impl Context {
    /// The catalog that is built in, with the user's own besides or instead.
    pub(super) fn catalog(&self) -> Result<Catalog, Failure> {
        let settings = &self.settings.catalog;
        match self.settings.catalog_folder(&self.layers)? {
            None => Ok(Catalog::bundled()),
            Some(folder) => {
                let overlay = if settings.bundled { Overlay::Extend } else { Overlay::Replace };
                Ok(Catalog::with_folder(&folder, overlay)?)
            }
        }
    }
}

/// Loads the model when a name has to be guessed, not before.
pub(super) fn embed(text: &str) -> Option<Vec<f32>> {
    static MODEL: OnceLock<Option<Embedder>> = OnceLock::new();
    MODEL.get_or_init(|| Embedder::bundled().ok()).as_ref()?.embed(text).ok()
}

pub(super) fn today() -> NaiveDate {
    Utc::now().date_naive()
}

pub(super) fn lookup(context: &Context, lookup: cli::Lookup) -> Result<Exit, Failure> {
    let request = LookupRequest { agent: lookup.agent, capability: lookup.capability };
    let found = context.catalog()?.lookup(&request, &embed)?;
    context.printer.answer(&found, lookup_text)?;
    note(context, found.message.as_deref());
    Ok(if found.capability.is_some() { Exit::Success } else { Exit::Failure })
}

fn lookup_text(found: &LookupResponse) -> String {
    match &found.capability {
        Some(capability) => capability_text(&found.agent, capability),
        None => matches_text(&found.matches),
    }
}

fn capability_text(agent: &str, capability: &KnownCapability) -> String {
    let mut out = format!("{agent}: {}  {}\n", capability.name, word(capability.available));
    let mut line = |label: &str, text: &str| out += &format!("  {label:<11}{text}\n");
    if let Some(tier) = capability.tier {
        let maturity = capability.maturity_level.map_or("", |maturity| maturity.name());
        line("plan", &format!("{}, {maturity}", tier.name()));
    }
    line("what", &capability.description);
    if let Some(term) = &capability.terminology {
        line("called", term);
    }
    if let Some(notes) = &capability.implementation_notes {
        for (label, text) in
            [("setup", &notes.setup), ("file", &notes.config_file), ("read", &notes.start_url)]
        {
            if let Some(text) = text {
                line(label, text);
            }
        }
        for text in &notes.gotchas {
            line("mind", text);
        }
    }
    for text in &capability.requirements {
        line("needs", text);
    }
    for text in &capability.limitations {
        line("limit", text);
    }
    for source in &capability.sources {
        line("source", &format!("{} ({})", source.url, source.verified_date));
    }
    out
}

pub(super) fn compare(context: &Context, compare: cli::Compare) -> Result<Exit, Failure> {
    let request = CompareRequest { capability: compare.capability, agents: compare.agents };
    let found = context.catalog()?.compare(&request, &embed)?;
    context.printer.answer(&found, compare_text)?;
    note(context, found.message.as_deref());
    Ok(if found.capability.is_some() { Exit::Success } else { Exit::Failure })
}

fn compare_text(found: &CompareResponse) -> String {
    let Some(capability) = &found.capability else {
        return matches_text(&found.matches);
    };
    let width = found.comparison.iter().map(|row| row.agent.len()).max().unwrap_or(0);
    let row = |row: &Compared| {
        let tier = row.tier.map_or("", |tier| tier.name());
        let maturity = row.maturity_level.map_or("", |maturity| maturity.name());
        let setup = row.implementation_notes.as_ref().and_then(|notes| notes.setup.as_deref());
        let (agent, available) = (&row.agent, word(row.available));
        let line = format!(
            "{agent:<width$}  {available:<9} {tier:<10} {maturity:<12} {}",
            setup.unwrap_or_default()
        );
        line.trim_end().to_owned() + "\n"
    };
    format!("{capability}\n") + &found.comparison.iter().map(row).collect::<String>()
}

pub(super) fn list(context: &Context, list: cli::Capabilities) -> Result<Exit, Failure> {
    let request = ListRequest { agent: list.agent, category: list.category };
    let found = context.catalog()?.list(&request)?;
    context.printer.answer(&found, list_text)?;
    Ok(Exit::Success)
}

fn list_text(found: &ListResponse) -> String {
    let width = found.capabilities.iter().map(|listed| listed.name.len()).max().unwrap_or(0);
    let row = |listed: &Listed| {
        let (name, category) = (&listed.name, &listed.category);
        let last = match (&listed.available, &listed.available_in) {
            (Some(available), _) => {
                format!("{:<9} {}", word(*available), listed.tier.map_or("", |tier| tier.name()))
            }
            (None, Some(agents)) => agents.join(", "),
            (None, None) => String::new(),
        };
        format!("{name:<width$}  {category:<19} {last}").trim_end().to_owned() + "\n"
    };
    found.capabilities.iter().map(row).collect()
}

pub(super) fn sources(context: &Context, sources: cli::Sources) -> Result<Exit, Failure> {
    let request = SourcesRequest { agent: sources.agent, capability: sources.capability };
    let found = context.catalog()?.sources(&request, today(), &embed)?;
    context.printer.answer(&found, sources_text)?;
    note(context, found.message.as_deref());
    Ok(if found.claims.is_empty() { Exit::Failure } else { Exit::Success })
}

fn sources_text(found: &SourcesResponse) -> String {
    let mut out = matches_text(&found.matches);
    for claim in &found.claims {
        out += &format!("{}: {}\n", claim.agent, claim.capability);
        for source in &claim.sources {
            let old = match source.freshness {
                Freshness::Fresh => "",
                Freshness::Aging => ", should be read again",
                Freshness::Stale => ", too old to rely on",
            };
            let (url, date) = (&source.url, source.verified_date);
            out += &format!("  {url}\n    {} ({date}{old})\n", source.description);
        }
    }
    out
}

pub(super) fn check(context: &Context, check: &cli::CatalogCheck) -> Result<Exit, Failure> {
    let mut faults = match context.settings.catalog_folder(&context.layers)? {
        Some(folder) => check_folder(&folder)?,
        None => Vec::new(),
    };
    // What the schema refuses cannot be read any further.
    if faults.is_empty() {
        let catalog = context.catalog()?;
        faults = catalog.check(today());
        if check.links {
            faults.extend(links::check(&catalog.links(), context.printer)?);
        }
    }
    let errors = faults.iter().filter(|fault| fault.severity == Severity::Error).count();
    context.printer.answer(&faults, |faults| faults.iter().map(fault_text).collect())?;
    context.printer.note(&format!("{errors} errors, {} warnings", faults.len() - errors));
    Ok(if errors == 0 { Exit::Success } else { Exit::Failure })
}

fn fault_text(fault: &Fault) -> String {
    let severity = match fault.severity {
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    format!("{severity}: {}: {}\n", fault.at, fault.problem)
}

fn matches_text(matches: &[PossibleMatch]) -> String {
    let line = |found: &PossibleMatch| format!("{:.2}  {}\n", found.match_confidence, found.name);
    matches.iter().map(line).collect()
}

fn word(available: Available) -> &'static str {
    match available.0 {
        Some(true) => "yes",
        Some(false) => "no",
        None => "not known",
    }
}

fn note(context: &Context, message: Option<&str>) {
    if let Some(message) = message {
        context.printer.note(message);
    }
}

impl From<kenning_catalog::Error> for Failure {
    fn from(error: kenning_catalog::Error) -> Self {
        Self::new(error.to_string()).hint(error.hint())
    }
}
