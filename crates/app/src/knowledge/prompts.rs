//! Prompts that lead a model to read before it writes.

use crate::prompt::{Argument, Prompt};
use crate::toolset::Toolset;

const TASK_PREPARATION: &str = "You are about to perform the following task:
{task}

Before proceeding, follow these steps:

1. Call `discover_context` with the task description to identify relevant knowledge
2. Review the recommendations and their relevance scores
3. Call `retrieve_knowledge` for items with relevance_score > 0.7
4. Read and internalize the retrieved context
5. Only then proceed with the task, applying the guidelines and patterns you learned

If you encounter ambiguity during the task, call `search_knowledge` to find specific guidance.
";

const KNOWLEDGE_AUDIT: &str = "You are about to perform the following task:
{task}

You have already loaded these knowledge base nodes:
{loaded_context}

Before proceeding, verify that this is enough:

1. List what the task needs you to know: conventions, architecture, interfaces, constraints, tests
2. For each point, name the loaded node that covers it, or say that none does
3. For each point that is not covered, call `search_knowledge` with two different phrasings
4. Call `retrieve_knowledge` for what fits, and `get_dependencies` for nodes that are blocked
5. If nothing fits, note the gap: \"No knowledge base entry found for [topic]\"

Then state whether the context is sufficient, what is missing, and how sure you are of the parts \
that rest on general knowledge.
";

pub(crate) fn prompts() -> Vec<Prompt> {
    vec![
        Prompt {
            name: "task_preparation",
            toolset: Toolset::Knowledge,
            title: "Prepare for a task",
            description: "Prepare context before executing a coding task",
            arguments: vec![task()],
            template: TASK_PREPARATION,
        },
        Prompt {
            name: "knowledge_audit",
            toolset: Toolset::Knowledge,
            title: "Audit loaded knowledge",
            description: "Verify sufficient context exists before proceeding",
            arguments: vec![
                task(),
                Argument {
                    name: "loaded_context",
                    description: "List of knowledge base IDs already loaded",
                    required: true,
                    complete: Some(|services| {
                        let snapshot = services.library.snapshot();
                        snapshot.nodes().map(|node| node.id().to_owned()).collect()
                    }),
                },
            ],
            template: KNOWLEDGE_AUDIT,
        },
    ]
}

fn task() -> Argument {
    Argument {
        name: "task",
        description: "The task to prepare for",
        required: true,
        complete: None,
    }
}
