import ArgumentParser

extension NameSpecification {
    /// An option as the original's command line spells it, `-name`; `--name` is understood as well.
    static func dash(_ name: String) -> NameSpecification { [.customLong(name, withSingleDash: true), .customLong(name)] }
}

/// `--json`, for commands whose result a program may want to read.
struct OutputOptions: ParsableArguments {
    @Flag(name: .long, help: "Print JSON instead of text.")
    var json = false
}
