//! Runs the network of a model: the vectors of the tokens of a text, made one.

use std::sync::Arc;

use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, NdTensorView};

use crate::folder::Pooling;
use crate::{EmbedError, LoadError};

/// Names that exports give to the vectors of the tokens.
const OUTPUTS: [&str; 2] = ["last_hidden_state", "token_embeddings"];

pub(crate) struct Network {
    model: Model,
    inputs: Vec<(NodeId, Input)>,
    output: NodeId,
    is_bundled: bool,
}

#[derive(Clone, Copy)]
enum Input {
    Ids,
    /// All ones: there is no padding.
    Mask,
    /// All zeros: there is one text.
    Types,
}

impl Network {
    pub(crate) fn bundled(weights: &'static [u8]) -> Result<Self, LoadError> {
        Ok(Self { is_bundled: true, ..Self::new(options().load_static_slice(weights)?)? })
    }

    pub(crate) fn load(weights: Vec<u8>) -> Result<Self, LoadError> {
        Self::new(options().load(weights)?)
    }

    fn new(model: Model) -> Result<Self, LoadError> {
        let inputs = model.input_ids().iter().map(|&id| Ok((id, input(&name(&model, id))?)));
        let inputs = inputs.collect::<Result<Vec<_>, LoadError>>()?;
        let output = output(&model)?;
        Ok(Self { model, inputs, output, is_bundled: false })
    }

    pub(crate) fn is_bundled(&self) -> bool {
        self.is_bundled
    }

    /// Runs the network on one text. Texts are not batched: activations are quantised by their range in
    /// a run, so a vector would depend on the other texts, and with packed weights a batch is not
    /// faster.
    pub(crate) fn run(
        &self,
        tokens: &[u32],
        pooling: Pooling,
        pool: &Arc<ThreadPool>,
    ) -> Result<Vec<f32>, EmbedError> {
        let ids = NdTensor::from_fn([1, tokens.len()], |[_, token]| tokens[token].cast_signed());
        let [mask, types] = [1, 0].map(|value| NdTensor::full([1, tokens.len()], value));
        let value = |input| match input {
            Input::Ids => ids.view().into(),
            Input::Mask => mask.view().into(),
            Input::Types => types.view().into(),
        };
        let inputs = self.inputs.iter().map(|&(id, input)| (id, value(input))).collect();
        let mut options = RunOptions::default();
        options.thread_pool = Some(pool.clone());
        let [states] = self.model.run_n(inputs, [self.output], Some(options))?;
        let states: NdTensor<f32, 3> = states.try_into().map_err(|_| EmbedError::Shape)?;
        if states.size(0) != 1 || states.size(1) != tokens.len() {
            return Err(EmbedError::Shape);
        }
        let states = states.slice(0);
        Ok(normalized(match pooling {
            Pooling::Mean => sum(states),
            Pooling::Cls => states.slice(0).iter().copied().collect(),
        }))
    }
}

fn name(model: &Model, id: NodeId) -> String {
    let info = model.node_info(id);
    info.and_then(|info| info.name().map(str::to_owned)).unwrap_or_default()
}

fn input(name: &str) -> Result<Input, LoadError> {
    match name {
        "input_ids" => Ok(Input::Ids),
        "attention_mask" => Ok(Input::Mask),
        "token_type_ids" => Ok(Input::Types),
        other => Err(LoadError::Graph {
            kind: "input",
            found: other.to_owned(),
            supported: "`input_ids`, `attention_mask` and `token_type_ids`",
        }),
    }
}

/// The vectors of the tokens: the output with a known name.
fn output(model: &Model) -> Result<NodeId, LoadError> {
    let outputs: Vec<(String, NodeId)> =
        model.output_ids().iter().map(|&id| (name(model, id), id)).collect();
    let known = |wanted: &&str| outputs.iter().find(|(name, _)| name == wanted);
    let found = OUTPUTS.iter().find_map(known);
    found.map(|(_, id)| *id).ok_or_else(|| LoadError::Graph {
        kind: "output",
        found: outputs.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join("` and `"),
        supported: "`last_hidden_state` and `token_embeddings`",
    })
}

/// Packs the weights once on loading, which makes every run several times faster.
fn options() -> ModelOptions {
    let mut options = ModelOptions::with_all_ops();
    options.prepack_weights(true);
    options
}

/// The mean of the tokens but for its length.
fn sum(states: NdTensorView<'_, f32, 2>) -> Vec<f32> {
    let mut sum = vec![0.0_f32; states.size(1)];
    for token in 0..states.size(0) {
        for (total, value) in sum.iter_mut().zip(states.slice(token).iter()) {
            *total += value;
        }
    }
    sum
}

/// The vector with length 1: vectors are compared by their angle.
fn normalized(mut vector: Vec<f32>) -> Vec<f32> {
    let norm = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if norm > 0.0 {
        for value in &mut vector {
            *value /= norm;
        }
    }
    vector
}
