// The actions that this page can run, as the tools of the request.

export const TOOLS = []
