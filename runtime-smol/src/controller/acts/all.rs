//! Several writes at once.

use crate::controller::context::Context;
use crate::controller::error::ActError;
use crate::informers::{Found, InformerHandle};
use core::future::poll_fn;
use core::pin::Pin;
use core::task::Poll;
use listwatch_core::Key;
use listwatch_core::api::PropagationPolicy;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;

/// As many writes of one call are under way.
const AT_ONCE: usize = 16;

impl Context {
    /// Sends several writes at once, 16 of them at most, and returns what came of each, in their order. Each is made
    /// whatever came of the others.
    ///
    /// ```
    /// use listwatch::controller::{ActError, Context};
    /// use listwatch::decode::MetadataOnly;
    /// use listwatch::{Found, InformerHandle};
    /// use serde_json::{Value, json};
    ///
    /// async fn keep(
    ///     cx: &Context,
    ///     maps: &InformerHandle<Value>,
    ///     foo: &Found<MetadataOnly>,
    ///     shards: &[String],
    /// ) -> Result<(), ActError> {
    ///     let data = |shard| json!({ "data": { "shard": shard } });
    ///     let ensured = shards.iter().map(|shard| cx.ensure(maps, foo.key().sibling(shard), &data(shard)).owned_by(foo));
    ///     cx.all(ensured).await.into_iter().collect::<Result<Vec<_>, _>>()?; // the first error, after all were sent
    ///     cx.prune(maps, foo, shards.iter().map(|shard| foo.key().sibling(shard))).await?; // those of other shards
    ///     Ok(())
    /// }
    /// ```
    ///
    /// The writes are of one type. Different ones are boxed futures, or go into two calls.
    pub async fn all<W: IntoFuture>(&self, writes: impl IntoIterator<Item = W>) -> Vec<W::Output> {
        let mut left = writes.into_iter().map(IntoFuture::into_future);
        let (mut outputs, mut open) = (Vec::new(), Vec::new());
        poll_fn(|cx| {
            loop {
                for write in left.by_ref().take(AT_ONCE - open.len()) {
                    open.push((outputs.len(), Box::pin(write)));
                    outputs.push(None);
                }
                let before = open.len();
                open.retain_mut(|(place, write)| match write.as_mut().poll(cx) {
                    Poll::Ready(output) => {
                        outputs[*place] = Some(output);
                        false
                    }
                    Poll::Pending => true,
                });
                // Where one has ended, another one may begin.
                if open.len() == before {
                    return if open.is_empty() { Poll::Ready(()) } else { Poll::Pending };
                }
            }
        })
        .await;
        outputs.into_iter().flatten().collect()
    }
}

/// The deletion of what an owner does not want any more: [`Context::prune`](crate::controller::Context::prune).
#[derive(Debug)]
#[must_use = "nothing is deleted until it is awaited"]
pub struct Prune<'a, T> {
    cx: &'a Context,
    unwanted: Vec<Found<T>>,
    propagation: Option<PropagationPolicy>,
}

impl Context {
    /// Deletes the objects of an informer that `owner` [controls](InformerHandle::owned_by), and that are not among `keep`.
    /// Those that are being deleted already are left alone.
    ///
    /// Each request has the object's uid, as with [`delete`](Self::delete), and the key that is reconciled waits until the
    /// store shows the deletions. They are sent as by [`all`](Self::all). It returns the objects that are deleted, and if
    /// a request failed, the first error, after all were sent.
    ///
    /// The cache says which objects there are. One that it does not show yet is pruned by a later reconcile, if the
    /// controller [owns](crate::controller::Reconciler::owns) the informer.
    pub fn prune<'a, T, O>(
        &'a self,
        informer: &InformerHandle<T>,
        owner: &Found<O>,
        keep: impl IntoIterator<Item: Into<Key>>,
    ) -> Prune<'a, T> {
        let keep: BTreeSet<Key> = keep.into_iter().map(Into::into).collect();
        let is_unwanted = |object: &Found<T>| !keep.contains(object.key()) && !object.is_terminating();
        let unwanted = informer.owned_by(owner).into_iter().filter(is_unwanted).collect();
        Prune { cx: self, unwanted, propagation: None }
    }
}

impl<T> Prune<'_, T> {
    /// Sets the policy for the dependents of the objects. Those of a Job stay by default.
    pub fn with_propagation(self, policy: PropagationPolicy) -> Self {
        Self { propagation: Some(policy), ..self }
    }
}

impl<'a, T: DeserializeOwned + Send + Sync + 'static> IntoFuture for Prune<'a, T> {
    type Output = Result<Vec<Found<T>>, ActError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'a>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { cx, unwanted, propagation } = self;
            let mut deletions: Vec<_> = unwanted.iter().map(|object| cx.delete(object)).collect();
            if let Some(policy) = propagation {
                deletions = deletions.into_iter().map(|delete| delete.with_propagation(policy)).collect();
            }
            cx.all(deletions).await.into_iter().collect::<Result<(), _>>()?;
            Ok(unwanted)
        })
    }
}
