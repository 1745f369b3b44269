//! The rules of client-go that span more than the reflector.
