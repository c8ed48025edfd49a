"""GET / and GET /static/:path: the chat page, an example client of all other routes (`api/static`)."""

from pathlib import Path

from flask import Blueprint, Flask, Response, current_app, g, request

from api.assets import Assets
from api.context import instance

blueprint = Blueprint("page", __name__)

# Websockets are named by their host: not every browser takes them for 'self'.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self' ws://{host} wss://{host}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types dompurify"
)


def init_app(app: Flask) -> None:
    app.extensions["assets"] = Assets(Path(__file__).parent / "static")
    app.register_blueprint(blueprint)


@blueprint.before_request
def _host_is_known() -> None:
    instance()


@blueprint.get("/")
def index() -> Response:
    """200, or 304 for a browser that has it; as all files of the page."""
    return asset("index.html")


@blueprint.get("/static/<path:path>", merge_slashes=False)
def asset(path: str) -> Response:
    assets: Assets = current_app.extensions["assets"]
    found = assets.find(path)
    body, encoding = found.encoded(request.accept_encodings.quality("gzip") > 0)
    response = Response(body, mimetype=found.mime, headers={"Vary": "Accept-Encoding", "Cache-Control": "no-cache"})
    if encoding:
        response.content_encoding = encoding
    response.set_etag(found.etag, weak=True)  # the same whatever the encoding
    response.make_conditional(request)
    return response


@blueprint.after_request
def _guarded(response: Response) -> Response:
    """Also an error's. The host stands in the policy only where it is an instance's."""
    if "instance" in g:
        response.headers["Content-Security-Policy"] = POLICY.format(host=request.host)
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "no-referrer"
        response.headers["Cross-Origin-Opener-Policy"] = "same-origin"
    return response
