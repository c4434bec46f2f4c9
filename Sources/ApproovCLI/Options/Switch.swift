import ArgumentParser

/// An option's value, `on` or `off`.
enum Switch: String, ExpressibleByArgument, CaseIterable {
    case on, off
}
