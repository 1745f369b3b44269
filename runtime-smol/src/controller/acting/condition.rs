//! Conditions of objects.

use crate::controller::context::Context;
use crate::informers::Found;
use listwatch_core::object::{Condition, ConditionStatus};

impl Context {
    /// A condition of an object, as this reconcile observes it: with the generation of the object, and the time of the
    /// controller's clock. [`Conditions::set`](listwatch_core::object::Conditions::set) puts it into a status, and keeps
    /// the time of an earlier transition.
    ///
    /// ```
    /// use listwatch::controller::{Context, Reconciled, Outcome};
    /// use listwatch::object::Conditions;
    /// use listwatch::{Found, kind};
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Clone, Deserialize, Serialize)]
    /// struct Foo {
    ///     #[serde(default)]
    ///     status: FooStatus,
    /// }
    ///
    /// #[derive(Clone, Default, Deserialize, Serialize)]
    /// struct FooStatus {
    ///     #[serde(default)]
    ///     conditions: Conditions,
    /// }
    ///
    /// kind!(Foo, "example.com/v1", "foos");
    ///
    /// async fn on_ready(cx: &Context, foo: &Found<Foo>) -> Reconciled {
    ///     let ready = cx.condition(foo, "Ready", true, "Available").with_message("3 of 3 replicas are available");
    ///     cx.change_status(foo, |foo| _ = foo.status.conditions.set(ready.clone())).await?;
    ///     Ok(Outcome::Done)
    /// }
    /// ```
    ///
    /// If the condition is as before, no request is sent. If it is not, the object is read before the patch, because a list
    /// changes: two requests. The server has a status apart from the object, and keeps its
    /// fields, if the CRD says so for the version:
    ///
    /// ```yaml
    /// subresources: { status: {} }
    /// schema: { openAPIV3Schema: { type: object, properties: { status: { type: object, x-kubernetes-preserve-unknown-fields: true } } } }
    /// ```
    #[doc(alias("SetStatusCondition", "metav1.Condition"))]
    #[must_use]
    pub fn condition<T>(
        &self,
        object: &Found<T>,
        type_: impl Into<String>,
        status: impl Into<ConditionStatus>,
        reason: impl Into<String>,
    ) -> Condition {
        let condition = Condition::new(type_, status, reason, self.clock().wall());
        match object.meta().generation() {
            0 => condition,
            generation => condition.with_observed_generation(generation),
        }
    }
}
