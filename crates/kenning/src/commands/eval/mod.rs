//! `eval`: measures search and the use of tools by models.

mod mine;
mod retrieval;
mod set;
mod tools;

use super::Context;
use crate::cli;
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context, eval: &cli::Eval) -> Result<Exit, Failure> {
    match eval {
        cli::Eval::Retrieval(options) => retrieval::run(context, options),
        cli::Eval::Mine(options) => mine::run(context, options),
        cli::Eval::Tools(tools) => tools::run(context, tools),
    }
}
