//! The definitions that a controller applies before it starts.

#[cfg(feature = "definitions")]
use super::context::field_manager;
use super::error::RunError;
use super::state::ControllerState;
#[cfg(feature = "definitions")]
use crate::definition::Definition;

/// Those of a controller, in the order in which they were named. Without the feature there are none.
#[derive(Default)]
pub(super) struct Definitions {
    #[cfg(feature = "definitions")]
    pub(super) all: Vec<Definition>,
}

impl Definitions {
    /// Applies each, and waits until its objects are served. A recording has its objects anyway.
    #[cfg(feature = "definitions")]
    pub(super) async fn apply(&self, state: &ControllerState) -> Result<(), RunError> {
        if state.informers.world().is_recording() {
            return Ok(());
        }
        for definition in &self.all {
            let defined = state.informers.client().define_as(field_manager(&state.name), definition).await;
            defined.map_err(|error| RunError::Config(error.to_string()))?;
        }
        Ok(())
    }

    #[cfg(not(feature = "definitions"))]
    pub(super) async fn apply(&self, _: &ControllerState) -> Result<(), RunError> {
        Ok(())
    }
}
