//! The capabilities of coding agents: `lookup`, `compare`, `capabilities`, `sources`,
//! `catalog check`.

use kenning_catalog::check::{Fault, Severity, check_folder};
use kenning_catalog::compare::{CompareRequest, CompareResponse, Compared};
use kenning_catalog::list::{ListRequest, ListResponse, Listed};
use kenning_catalog::lookup::{
    Available, KnownCapability, LookupRequest, LookupResponse, PossibleMatch,
};
use kenning_catalog::sources::{Freshness, SourcesRequest, SourcesResponse};

use super::clock::today;
use super::context::embed;
use super::{Context, links};
use crate::cli;
use crate::failure::{Exit, Failure};
use crate::printer::count;

pub(super) fn lookup(context: &Context, args: cli::Lookup) -> Result<Exit, Failure> {
    let request = LookupRequest { agent: args.agent, capability: args.capability };
    let found = context.catalog()?.lookup(&request, &embed)?;
    context.printer.answer(&found, lookup_text)?;
    context.printer.note_if(found.message.as_deref());
    Ok(Exit::success_if(found.capability.is_some()))
}

fn lookup_text(found: &LookupResponse) -> String {
    match &found.capability {
        Some(capability) => capability_text(&found.agent, capability),
        None => matches_text(&found.matches),
    }
}

fn capability_text(agent: &str, capability: &KnownCapability) -> String {
    let mut out = format!("{agent}: {}  {}\n", capability.name, yes_or_no(capability.available));
    let mut line = |label: &str, text: &str| out += &format!("  {label:<11}{text}\n");
    if let Some(tier) = capability.tier {
        let maturity = capability.maturity_level.map_or("", |maturity| maturity.name());
        line("plan", &format!("{}, {maturity}", tier.name()));
    }
    line("about", &capability.description);
    if let Some(term) = &capability.terminology {
        line("called", term);
    }
    if let Some(notes) = &capability.implementation_notes {
        for (label, text) in
            [("setup", &notes.setup), ("file", &notes.config_file), ("docs", &notes.start_url)]
        {
            if let Some(text) = text {
                line(label, text);
            }
        }
        for text in &notes.gotchas {
            line("note", text);
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

pub(super) fn compare(context: &Context, args: cli::Compare) -> Result<Exit, Failure> {
    let request = CompareRequest { capability: args.capability, agents: args.agents };
    let found = context.catalog()?.compare(&request, &embed)?;
    context.printer.answer(&found, compare_text)?;
    context.printer.note_if(found.message.as_deref());
    Ok(Exit::success_if(found.capability.is_some()))
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
        let (agent, available) = (&row.agent, yes_or_no(row.available));
        let line = format!(
            "{agent:<width$}  {available:<9} {tier:<10} {maturity:<12} {}",
            setup.unwrap_or_default()
        );
        line.trim_end().to_owned() + "\n"
    };
    format!("{capability}\n") + &found.comparison.iter().map(row).collect::<String>()
}

pub(super) fn list(context: &Context, args: cli::Capabilities) -> Result<Exit, Failure> {
    let request = ListRequest { agent: args.agent, category: args.category };
    let found = context.catalog()?.list(&request)?;
    context.answer(&found, list_text)
}

fn list_text(found: &ListResponse) -> String {
    let width = found.capabilities.iter().map(|listed| listed.name.len()).max().unwrap_or(0);
    let row = |listed: &Listed| {
        let (name, category) = (&listed.name, &listed.category);
        let last = match (&listed.available, &listed.available_in) {
            (Some(available), _) => {
                format!(
                    "{:<9} {}",
                    yes_or_no(*available),
                    listed.tier.map_or("", |tier| tier.name())
                )
            }
            (None, Some(agents)) => agents.join(", "),
            (None, None) => String::new(),
        };
        format!("{name:<width$}  {category:<19} {last}").trim_end().to_owned() + "\n"
    };
    found.capabilities.iter().map(row).collect()
}

pub(super) fn sources(context: &Context, args: cli::Sources) -> Result<Exit, Failure> {
    let request = SourcesRequest { agent: args.agent, capability: args.capability };
    let found = context.catalog()?.sources(&request, today(), &embed)?;
    context.printer.answer(&found, sources_text)?;
    context.printer.note_if(found.message.as_deref());
    Ok(Exit::success_if(!found.claims.is_empty()))
}

fn sources_text(found: &SourcesResponse) -> String {
    let mut out = matches_text(&found.matches);
    for claim in &found.claims {
        out += &format!("{}: {}\n", claim.agent, claim.capability);
        for source in &claim.sources {
            let old = match source.freshness {
                Freshness::Fresh => "",
                Freshness::Aging => ", due for review",
                Freshness::Stale => ", too old to rely on",
            };
            let (url, date) = (&source.url, source.verified_date);
            out += &format!("  {url}\n    {} ({date}{old})\n", source.description);
        }
    }
    out
}

pub(super) fn check(context: &Context, args: &cli::CatalogCheck) -> Result<Exit, Failure> {
    let mut faults = match context.settings.catalog_folder(&context.layers)? {
        Some(folder) => check_folder(&folder)?,
        None => Vec::new(),
    };
    // A catalog that violates the schema cannot be opened for the other checks.
    if faults.is_empty() {
        let catalog = context.catalog()?;
        faults = catalog.check(today());
        if args.links {
            faults.extend(links::check(&catalog.links(), context.printer)?);
        }
    }
    let errors = faults.iter().filter(|fault| fault.severity == Severity::Error).count();
    context.printer.answer(&faults, |faults| faults.iter().map(fault_text).collect())?;
    let warnings = count(faults.len() - errors, "warning");
    context.printer.note(&format!("{}, {warnings}", count(errors, "error")));
    Ok(Exit::success_if(errors == 0))
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

fn yes_or_no(available: Available) -> &'static str {
    match available.0 {
        Some(true) => "yes",
        Some(false) => "no",
        None => "unknown",
    }
}
