import Hummingbird

/// Adds the page that asks the user for a password.
func addLoginPage(to router: Router<NotesContext>, logins: LoginStore) {
    router.get("authorize") { request, _ in
        let parameters = request.uri.queryParameters
        let login = LoginRequest { name in
            let values = parameters[values: Substring(name)]
            return values.count == 1 ? String(values[0]) : nil
        }
        guard let login else { throw HTTPError(.badRequest, message: "this log-in was not started by the notes app") }
        return page(for: login, status: .ok)
    }
    router.post("authorize") { request, context in
        let form = try await URLEncodedFormDecoder().decode([String: String].self, from: request, context: context)
        guard let login = LoginRequest({ form[$0] }) else { throw HTTPError(.badRequest) }
        if form["answer"] == "refuse" { return redirect(to: login, "error=access_denied") }
        let code = logins.logIn(
            form["user"] ?? "", password: form["password"] ?? "", redirectURI: login.redirectURI, challenge: login.challenge)
        // A real server also limits how often a password may be tried.
        guard let code else { return page(for: login, status: .forbidden, problem: "The name or the password is wrong.") }
        return redirect(to: login, "code=\(code)")
    }
}

private func page(for login: LoginRequest, status: HTTPResponse.Status, problem: String = "") -> Response {
    let hidden = login.parameters.map { "<input type=hidden name=\($0.name) value=\"\($0.value)\">" }.joined(separator: "\n")
    let html = """
        <!DOCTYPE html><meta charset=utf-8><title>Log in to your notes</title>
        <h1>Log in to your notes</h1><p>\(problem)</p>
        <form method=post>
        \(hidden)
        <p><label>Name <input name=user autocomplete=username></label></p>
        <p><label>Password <input name=password type=password autocomplete=current-password></label></p>
        <button name=answer value=allow>Log in</button> <button name=answer value=refuse>Cancel</button>
        </form>

        """
    return Response(
        status: status,
        headers: [
            .contentType: "text/html; charset=utf-8", .cacheControl: "no-store",
            // No other page may show this one in a frame, and the form may lead only here and to the app.
            .contentSecurityPolicy: "default-src 'none'; form-action 'self' http://127.0.0.1:*; frame-ancestors 'none'",
        ],
        body: .init(byteBuffer: ByteBuffer(string: html)))
}

private func redirect(to login: LoginRequest, _ answer: String) -> Response {
    var response = Response.redirect(to: "\(login.redirectURI)?\(answer)&state=\(login.state)")
    response.headers[.cacheControl] = "no-store"
    return response
}
