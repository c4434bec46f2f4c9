import ApproovTesting
import Foundation
import Testing

/// A web server of Python on loopback that parses each request with libraries that know nothing of this package, and answers what they found.
///
/// - `/form` with werkzeug and with python-multipart; a multipart form also with multipart, another form also with Python's own library
/// - `/query` with qs-codec, which reads nested names, and with Python's own library
/// - `/xml` with lxml
struct PythonServer {
    /// Python as `APPROOV_PYTHON` names it, for example that of a virtual environment, or python3 of PATH.
    private static let python = ProcessInfo.processInfo.environment["APPROOV_PYTHON"] ?? "python3"

    static let whatIsMissing: Comment =
        "werkzeug, python-multipart, multipart, qs-codec or lxml is not there, so no other library is tried: pip install them, or set APPROOV_PYTHON to a python that has them"

    /// Whether the libraries are there.
    static func isPossible() async -> Bool {
        let run = try? await ChildProcess.run(
            URL(filePath: "/usr/bin/env"),
            [python, "-c", "import lxml.etree, multipart, python_multipart, qs_codec, werkzeug; multipart.MultipartSegment"])
        return run?.exitCode == 0
    }

    /// The URL of its root.
    let url: URL

    /// Lends a running server.
    static func with<Result>(_ work: (PythonServer) async throws -> Result) async throws -> Result {
        let folder = try TemporaryFolder()
        let port = folder.url.appending(path: "port")
        let child = try ChildProcess(
            URL(filePath: "/usr/bin/env"), [python, "-c", program, port.path(percentEncoded: false)])
        var text = ""
        try #require(
            await eventually {
                text = (try? String(contentsOf: port, encoding: .utf8)) ?? ""
                return text.hasSuffix("\n")
            })
        // The process ends with this object.
        defer { withExtendedLifetime((child, folder)) {} }
        return try await work(PythonServer(url: try #require(URL(string: "http://127.0.0.1:\(text.dropLast())/"))))
    }

    private static let program = """
        import base64, io, json, os, sys
        from urllib.parse import parse_qsl, unquote_to_bytes
        import python_multipart, qs_codec
        from multipart import MultipartParser
        from lxml import etree
        from werkzeug.formparser import FormDataParser
        from werkzeug.http import parse_options_header
        from werkzeug.serving import WSGIRequestHandler, make_server

        def text(value):
            return base64.b64encode(value if isinstance(value, bytes) else value.encode()).decode()

        def werkzeug(body, content_type):
            media_type, options = parse_options_header(content_type)
            parser = FormDataParser(max_form_memory_size=None, max_form_parts=None)
            _, form, files = parser.parse(io.BytesIO(body), media_type, len(body), options)
            return [[text(name), None, "", text(value)] for name, value in form.items(multi=True)] + [
                [text(name), text(file.filename), file.content_type, text(file.read())] for name, file in files.items(multi=True)]

        def python_multipart_form(body, content_type):
            found = []
            def plain(value):
                # This library leaves the decoding of forms to the program that uses it.
                return unquote_to_bytes(value.replace(b"+", b" ")) if "urlencoded" in content_type else value
            def on_field(field):
                found.append([text(plain(field.field_name)), None, "", text(plain(field.value or b""))])
            def on_file(file):
                file.file_object.seek(0)
                found.append([text(file.field_name), text(file.file_name), file.content_type or "", text(file.file_object.read())])
            parser = python_multipart.create_form_parser({"Content-Type": content_type.encode()}, on_field, on_file)
            parser.write(body)
            parser.finalize()
            return found

        def multipart_form(body, content_type):
            media_type, options = parse_options_header(content_type)
            if media_type != "multipart/form-data":
                return []
            # Latin-1 has a character for every byte.
            return [
                [text(part.name.encode("latin-1")), part.filename and text(part.filename.encode("latin-1")),
                 part.content_type if part.filename else "", text(part.raw)]
                for part in MultipartParser(io.BytesIO(body), options["boundary"], charset="latin-1")]

        def pairs(body, content_type):
            if "urlencoded" not in content_type:
                return []
            found = parse_qsl(body.decode("ascii"), keep_blank_values=True, encoding="latin-1", max_num_fields=None)
            return [[text(name.encode("latin-1")), None, "", text(value.encode("latin-1"))] for name, value in found]

        def query(text, options):
            options = json.loads(options or "{}")
            decoded = qs_codec.decode(text, qs_codec.DecodeOptions(
                allow_dots="dots" in options, comma="comma" in options, parse_lists="indices" not in options, depth=40, list_limit=1000, parameter_limit=100000,
                strict_null_handling=True))
            return {"nested": decoded, "flat": parse_qsl(text, keep_blank_values=True, max_num_fields=None)}

        def tree(element):
            children = [element.text or ""]
            for child in element:
                children += [tree(child), child.tail or ""]
            return {"name": element.tag, "attributes": sorted(element.attrib.items()), "children": children}

        def xml(body, encoding):
            root = etree.fromstring(body)
            if not encoding:
                return tree(root)
            return text(etree.tostring(root, encoding=encoding, xml_declaration=True))

        def app(environ, start):
            body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            content_type, path = environ.get("CONTENT_TYPE", ""), environ["PATH_INFO"]
            if path == "/form":
                answer = {
                    "werkzeug": werkzeug(body, content_type), "pythonMultipart": python_multipart_form(body, content_type),
                    "multipart": multipart_form(body, content_type), "pairs": pairs(body, content_type)}
            elif path == "/query":
                answer = query(environ["QUERY_STRING"], environ.get("HTTP_X_OPTIONS"))
            else:
                answer = xml(body, environ.get("HTTP_X_ENCODING"))
            start("200 OK", [("Content-Type", "application/json")])
            return [json.dumps(answer).encode()]

        class Quiet(WSGIRequestHandler):
            protocol_version = "HTTP/1.1"
            def log_request(self, *arguments):
                pass

        server = make_server("127.0.0.1", 0, app, threaded=True, request_handler=Quiet)
        with open(sys.argv[1] + ".new", "w") as file:
            file.write(f"{server.port}\\n")
        os.rename(sys.argv[1] + ".new", sys.argv[1])
        server.serve_forever()
        """
}
