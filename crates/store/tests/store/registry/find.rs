//! Search in the registry.

use std::sync::Arc;

use kenning_embed::Embedder;
use kenning_registry::Registry;
use kenning_registry::find::RankError;
use kenning_registry::list::{Groups, ListRequest};
use serde_json::json;

use super::fixture::{add, register};
use crate::fixture::Fixture;

fn ask(registry: &Registry, query: &str) -> Vec<String> {
    let request = ListRequest { query: Some(query.to_owned()), ..ListRequest::default() };
    let answer = registry.list(&request).unwrap();
    let Groups::BySkill(groups) = answer.capabilities else { panic!("by skill unless said") };
    assert_eq!(groups.len(), answer.total_skills);
    let scores: Vec<f64> = groups.iter().map(|group| group.relevance_score.unwrap()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    groups.into_iter().map(|group| group.skill_name).collect()
}

pub(crate) fn finds_skills_by_words(fixture: &Fixture) {
    let registry = fixture.registry();
    add(&registry, 12, "Mu");
    let helm = json!({"skill_name": "helm-charts", "version": "1.0.0", "metadata": {
        "description": "Deploys services to a Kubernetes cluster"}});
    let soup = json!({"skill_name": "soup", "version": "1.0.0"});
    let deploy = json!({"skill_name": "ftp-deploy", "version": "1.0.0"});
    let off = json!({"skill_name": "kubernetes", "version": "1.0.0", "active": false});
    register(&registry, json!({"agent_id": 11, "capabilities": [soup, deploy, off]})).unwrap();
    register(&registry, json!({"agent_id": 12, "capabilities": [helm]})).unwrap();
    assert_eq!(ask(&registry, "who can deploy to kubernetes?"), ["helm-charts", "ftp-deploy"]);
    assert_eq!(ask(&registry, "quantum chemistry"), Vec::<String>::new());

    let by_agent = json!({"query": "who can deploy to kubernetes?", "group_by": "agent"});
    let answer = registry.list(&serde_json::from_value(by_agent).unwrap()).unwrap();
    let Groups::ByAgent(agents) = answer.capabilities else { panic!("by agent, as asked") };
    let names: Vec<&str> = agents.iter().map(|agent| agent.agent_name.as_str()).collect();
    assert_eq!(names, ["Mu", "Lambda"], "the best first");
    assert_eq!(agents[1].skill_count, 1, "only what has to do with the question");
}

/// With the real model: the query and the skill that answers it share no word.
pub(crate) fn finds_skills_by_meaning(fixture: &Fixture) {
    let model = Embedder::bundled().unwrap();
    let meaning = move |query: &str, texts: &[String]| -> Result<Vec<f32>, RankError> {
        let embed = |text: &str| model.embed(text).map_err(RankError::new);
        let query = embed(query)?;
        let compare =
            |text: &String| Ok(embed(text)?.iter().zip(&query).map(|(a, b)| a * b).sum::<f32>());
        texts.iter().map(compare).collect()
    };
    let registry = fixture.registry().with_ranker(Arc::new(meaning));
    let described = |name: &str, text: &str| json!({"skill_name": name, "version": "1.0.0", "metadata": {"description": text}});
    let capabilities = [
        described("helm-charts", "Rolls out containers to a k8s cluster"),
        described("invoice-writer", "Writes bills for customers"),
        described("pytest-workflow", "Writes unit tests before the code"),
        described("figma-export", "Turns designs into components"),
    ];
    register(&registry, json!({"agent_id": 11, "capabilities": capabilities})).unwrap();
    let best = |query: &str| ask(&registry, query).into_iter().next();
    assert_eq!(best("who can deploy to kubernetes?").as_deref(), Some("helm-charts"));
    assert_eq!(best("send a client the amount due").as_deref(), Some("invoice-writer"));
    assert_eq!(best("turn a mockup into react code").as_deref(), Some("figma-export"));
    for query in ["quantum chemistry", "who can cook soup?", "translate a book"] {
        assert_eq!(best(query), None, "{query}");
    }
}
