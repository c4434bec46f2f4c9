#pragma once
#include <gio/gio.h>
#include <libsecret/secret.h>

// Swift sees no variadic functions.

// libsecret's constructor takes the session bus that all of the process shares, with which GLib ends the process when the bus goes away.
// This subclass keeps the caller's connection. It takes no signals, because no loop would remove them from their queue.
static inline GObject *clibsecret_construct(GType type, guint count, GObjectConstructParam *properties) {
    GObject *object = G_OBJECT_CLASS(g_type_class_peek(SECRET_TYPE_SERVICE))->constructor(type, count, properties);
    g_object_set(object, "g-bus-type", G_BUS_TYPE_NONE, "g-flags", G_DBUS_PROXY_FLAGS_DO_NOT_CONNECT_SIGNALS, NULL);
    return object;
}

static inline void clibsecret_prepare(gpointer type_class, gpointer data) {
    (void)data;
    ((GObjectClass *)type_class)->constructor = clibsecret_construct;
}

// Registers the subclass; to be called once.
static inline GType clibsecret_register(void) {
    return g_type_register_static_simple(
        SECRET_TYPE_SERVICE, "ApproovSecretService", sizeof(SecretServiceClass), clibsecret_prepare, sizeof(SecretService), NULL,
        G_TYPE_FLAG_NONE);
}

// The Secret Service on a connection.
static inline SecretService *clibsecret_open(GType type, GDBusConnection *connection, GCancellable *cancellable, GError **error) {
    return (SecretService *)g_initable_new(
        type, cancellable, error, "g-connection", connection, "flags", SECRET_SERVICE_OPEN_SESSION, NULL);
}

// A schema with two attributes, which are texts.
static inline SecretSchema *clibsecret_schema(const char *name, const char *first, const char *second) {
    return secret_schema_new(
        name, SECRET_SCHEMA_NONE, first, SECRET_SCHEMA_ATTRIBUTE_STRING, second, SECRET_SCHEMA_ATTRIBUTE_STRING, NULL);
}
