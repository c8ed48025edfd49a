// All texts of the page: [English, French]. `{name}` stands for a value, `one|many` for what depends on `{n}`.
// French has no-break spaces inside « » and before : ; ? and !

export const catalogue = {
  // the page
  cancel: ['Cancel', 'Annuler'],
  close: ['Close', 'Fermer'],
  connected: ['Connected again', 'Connexion rétablie'],
  language: ['Language', 'Langue'],
  loading: ['Loading…', 'Chargement…'],
  lost: ['The connection is lost. Trying again…', 'La connexion est perdue. Nouvel essai…'],
  menu: ['Menu', 'Menu'],
  more: ['Show more', 'Afficher plus'],
  name: ['Name', 'Nom'],
  save: ['Save', 'Enregistrer'],

  // signing in
  signIn: ['Sign in', 'Connexion'],
  signInDo: ['Sign in', 'Se connecter'],
  signInHint: [
    'Open the link that “ragcore instances link” printed, or paste it here.',
    'Ouvrez le lien affiché par « ragcore instances link », ou collez-le ici.'
  ],
  signOut: ['Sign out', 'Se déconnecter'],
  signedOut: ['Your sign-in is not valid any more.', 'Votre connexion n’est plus valable.'],
  token: ['Link or token', 'Lien ou jeton'],

  // errors of requests
  conflict: ['Somebody changed this at the same time. Please try again.', 'Quelqu’un d’autre a fait une modification en même temps. Veuillez réessayer.'],
  failed: ['The server could not do this ({status}).', 'Le serveur n’a pas pu le faire ({status}).'],
  forbidden: ['You may not do this.', 'Vous n’en avez pas le droit.'],
  notFound: ['This does not exist any more.', 'Cela n’existe plus.'],
  offline: ['The server cannot be reached.', 'Le serveur est injoignable.'],
  tooLarge: ['This is larger than the server takes.', 'C’est plus volumineux que ce que le serveur accepte.'],
  tooMany: ['Too many requests. Please wait a moment.', 'Trop de requêtes. Veuillez patienter un instant.'],
  unavailable: ['The server is busy. Please try again in a moment.', 'Le serveur est occupé. Veuillez réessayer dans un instant.'],

  // the list
  assistants: ['Assistants', 'Assistants'],
  conversations: ['Conversations', 'Conversations'],
  newAssistant: ['New assistant', 'Nouvel assistant'],
  newConversation: ['New conversation', 'Nouvelle conversation'],
  noAssistants: ['None yet', 'Aucun pour le moment'],
  noConversations: ['None yet', 'Aucune pour le moment'],
  remove: ['Delete “{name}”', 'Supprimer « {name} »'],
  removeIt: ['Delete', 'Supprimer'],
  removeText: ['“{name}” will be gone for good.', 'Il sera impossible de récupérer « {name} ».'],
  removeTitle: ['Delete this conversation?', 'Supprimer cette conversation ?'],
  rename: ['Rename “{name}”', 'Renommer « {name} »'],
  renameTitle: ['Rename the conversation', 'Renommer la conversation'],

  // the chat
  allFiles: ['All my indexed files', 'Tous mes fichiers indexés'],
  answer: ['Answer', 'Réponse'],
  answered: ['Answer:', 'Réponse :'],
  answering: ['The assistant is answering…', 'L’assistant répond…'],
  ask: ['Ask something', 'Posez une question'],
  assistant: ['Assistant', 'Assistant'],
  copied: ['Copied', 'Copié'],
  copy: ['Copy the answer', 'Copier la réponse'],
  documents: ['My files', 'Mes fichiers'],
  documentsHint: ['Look in my files', 'Chercher dans mes fichiers'],
  earlier: ['Earlier messages', 'Messages précédents'],
  goOn: ['Please go on.', 'Continuez, s’il vous plaît.'],
  messages: ['Messages', 'Messages'],
  noAnswer: ['There is no answer to this question.', 'Il n’y a pas de réponse à cette question.'],
  retry: ['Try again', 'Réessayer'],
  send: ['Send', 'Envoyer'],
  stop: ['Stop', 'Arrêter'],
  stopKey: ['Stop (Esc)', 'Arrêter (Échap)'],
  stopped: ['Stopped', 'Arrêté'],
  surface: ['How the answer is made', 'Comment la réponse est faite'],
  surface_agent: ['Agent', 'Agent'],
  surface_ask: ['Ask', 'Question'],
  surface_chat: ['Chat', 'Discussion'],
  surfaceHint_agent: [
    'It looks around in your files before it answers, step by step, and remembers what you ask it to.',
    'Il cherche dans vos fichiers avant de répondre, étape par étape, et retient ce que vous lui demandez.'
  ],
  surfaceHint_ask: [
    'Answers come from your files and memories alone, each with the passages that it cites.',
    'Les réponses viennent uniquement de vos fichiers et souvenirs, avec les passages qu’elles citent.'
  ],
  surfaceHint_chat: [
    'Answers come from your own files, with the passages that they were made from.',
    'Les réponses viennent de vos propres fichiers, avec les passages dont elles sont tirées.'
  ],
  thinking: ['Thoughts', 'Réflexion'],
  tokens: ['· {count} token|· {count} tokens', '· {count} token|· {count} tokens'],
  truncated: ['The answer was cut short.', 'La réponse a été écourtée.'],
  unknownAssistant: ['An assistant that is gone', 'Un assistant disparu'],
  websearch: ['Web', 'Web'],
  websearchHint: ['Search the web as well', 'Chercher aussi sur le web'],
  welcome: ['What would you like to know?', 'Que voulez-vous savoir ?'],
  yourQuestion: ['You', 'Vous'],

  // why there is no answer: the codes of the error event
  error_assistant_not_found: ['The assistant does not exist any more.', 'L’assistant n’existe plus.'],
  error_conflict: ['The answer could not be saved. Please try again.', 'La réponse n’a pas pu être enregistrée. Veuillez réessayer.'],
  error_empty: ['The assistant had nothing to say. Please try again.', 'L’assistant n’a rien répondu. Veuillez réessayer.'],
  error_gone: ['The conversation does not exist any more.', 'La conversation n’existe plus.'],
  error_internal: ['The assistant failed to answer. Please try again.', 'L’assistant n’a pas pu répondre. Veuillez réessayer.'],
  error_interrupted: ['The answer was interrupted. Please try again.', 'La réponse a été interrompue. Veuillez réessayer.'],
  error_late: ['The question was asked too long ago. Please try again.', 'La question a été posée il y a trop longtemps. Veuillez réessayer.'],
  error_not_indexed: [
    'The folder of this assistant is not indexed yet. Please try again in a moment.',
    'Le dossier de cet assistant n’est pas encore indexé. Veuillez réessayer dans un instant.'
  ],
  error_refused: ['The assistant cannot take this question.', 'L’assistant ne peut pas traiter cette question.'],
  error_too_long: ['The conversation is too long for the assistant.', 'La conversation est trop longue pour l’assistant.'],
  error_unavailable: [
    'The assistant cannot answer at the moment. Please try again later.',
    'L’assistant ne peut pas répondre pour le moment. Veuillez réessayer plus tard.'
  ],

  // the budget of a day
  left: ['AI left {percent}', 'IA restante {percent}'],
  plan: ['Your plan: {plan}', 'Votre formule : {plan}'],
  spent: ['The AI budget of the day is spent', 'Le budget d’IA du jour est épuisé'],
  spentUntil: ['It is yours again from {date}.', 'Il sera de nouveau disponible le {date}.'],
  upgrade: ['Have more of it', 'En avoir davantage'],

  // the steps of the agent
  detail_confidence: ['Confidence', 'Confiance'],
  detail_conversations: ['Conversations', 'Conversations'],
  detail_documents: ['Documents', 'Documents'],
  detail_files: ['Files', 'Fichiers'],
  detail_found: ['Found', 'Trouvés'],
  detail_indexed: ['Indexed', 'Indexés'],
  detail_limit: ['At most', 'Au plus'],
  detail_message: ['Message', 'Message'],
  detail_query: ['Looked for', 'Cherché'],
  detail_refused: ['Refused', 'Refusés'],
  detail_since: ['Changed since', 'Modifiés depuis'],
  detail_status: ['State', 'État'],
  detail_text: ['Text', 'Texte'],
  detail_until: ['Changed until', 'Modifiés jusqu’au'],
  step_call: ['Running', 'En cours'],
  step_done: ['Done', 'Fait'],
  step_error: ['Failed', 'Échec'],
  step_stopped: ['Stopped', 'Arrêté'],
  steps: ['Steps', 'Étapes'],
  tool_get_workspace_stats: ['Overview', 'Vue d’ensemble'],
  tool_list_recent_documents: ['Recent documents', 'Documents récents'],
  tool_save_memory: ['Memory', 'Souvenir'],
  tool_search_knowledge_base: ['Search', 'Recherche'],

  // memories
  approve: ['Approve', 'Approuver'],
  approved: ['The memory is used for answers from now on.', 'Le souvenir sert désormais aux réponses.'],
  conversation: ['Conversation', 'Conversation'],
  memories: ['Memories', 'Souvenirs'],
  memoriesActive: ['Used for answers', 'Utilisés pour les réponses'],
  memoriesHint: [
    'What the agent knows of you. Nothing is used for answers before you approved of it, or asked to remember it.',
    'Ce que l’agent sait de vous. Rien ne sert aux réponses avant que vous ne l’ayez approuvé, ou demandé de le retenir.'
  ],
  memoriesPending: ['Waiting for your word', 'En attente de votre avis'],
  memory: ['Memory', 'Souvenir'],
  memory_active: ['is used for answers', 'utilisé pour les réponses'],
  memory_pending: ['waits for your word', 'attend votre avis'],
  memoryEdit: ['Edit the memory', 'Modifier le souvenir'],
  memoryEditOne: ['Edit “{name}”', 'Modifier « {name} »'],
  memoryRemoved: ['The memory was deleted.', 'Le souvenir a été supprimé.'],
  memoryRemoveTitle: ['Delete this memory?', 'Supprimer ce souvenir ?'],
  noActive: ['None yet', 'Aucun pour le moment'],
  noPending: ['Nothing waits for you.', 'Rien n’attend votre avis.'],
  openMemories: ['Open the memories', 'Ouvrir les souvenirs'],
  pending: ['{n} waits for your word|{n} wait for your word', '{n} attend votre avis|{n} attendent votre avis'],
  reject: ['Reject', 'Refuser'],
  rejected: ['The memory is used for nothing.', 'Le souvenir ne sert à rien.'],
  sure: ['{percent} sure', 'sûr à {percent}'],

  // sources
  document: ['Document', 'Document'],
  noPassage: ['The passage is not there any more.', 'Le passage n’existe plus.'],
  openFile: ['Open the file', 'Ouvrir le fichier'],
  page: ['p. {page}', 'p. {page}'],
  sources: ['Sources', 'Sources'],

  // actions
  actionDetails: ['Details', 'Détails'],
  actionDone: ['Done.', 'Fait.'],
  actionFailed: ['This did not work.', 'Cela n’a pas fonctionné.'],
  actionResult: ['Result', 'Résultat'],
  actionTitle: ['Action: {name}', 'Action : {name}'],
  dismiss: ['Dismiss', 'Écarter'],
  dismissed: ['Dismissed.', 'Écartée.'],
  emailAgain: ['Open it again', 'L’ouvrir à nouveau'],
  emailBody: ['Text', 'Texte'],
  emailConfirm: ['Open in my mail program', 'Ouvrir dans ma messagerie'],
  emailCopy: ['Copy the text', 'Copier le texte'],
  emailCut: [
    'The text is too long for a link: only its beginning was handed over. All of it was copied, to be pasted.',
    'Le texte est trop long pour un lien : seul le début a été transmis. Il a été copié en entier, pour être collé.'
  ],
  emailDone: ['Opened in your mail program.', 'Ouvert dans votre messagerie.'],
  emailSubject: ['Subject', 'Objet'],
  emailTitle: ['Email', 'E-mail'],
  emailTo: ['To', 'À'],
  noteConfirm: ['Write the note', 'Écrire la note'],
  noteContent: ['Text', 'Texte'],
  noteDone: ['The note is written.', 'La note est écrite.'],
  noteName: ['Title', 'Titre'],
  noteTitle: ['Note', 'Note'],
  onlyTyped: [
    'Left empty: only what you typed yourself may stand here. Add it if you wish.',
    'Laissé vide : seul ce que vous avez vous-même écrit peut figurer ici. Complétez si vous le souhaitez.'
  ],
  open: ['Open', 'Ouvrir'],
  proposed: ['The assistant proposes: {what}', 'L’assistant propose : {what}'],
  searchConfirm: ['Search', 'Chercher'],
  searchDone: ['Searched.', 'Recherche effectuée.'],
  searchFound: ['{n} file:|{n} files:', '{n} fichier :|{n} fichiers :'],
  searchMore: ['More than {n} files; those that changed last:', 'Plus de {n} fichiers ; les derniers modifiés :'],
  searchNothing: ['No file has these words in its name.', 'Aucun fichier n’a ces mots dans son nom.'],
  searchQuery: ['Words in the name', 'Mots du nom'],
  searchTitle: ['Search in my files', 'Recherche dans mes fichiers'],
  searchWhere: ['in {folder}, changed {date}', 'dans {folder}, modifié le {date}'],
  unknownAction: ['This page cannot run this action.', 'Cette page ne sait pas exécuter cette action.'],

  // files
  fileChanged: ['Changed', 'Modifié'],
  fileCreated: ['Created', 'Créé'],
  fileDownload: ['Download', 'Télécharger'],
  fileFolder: ['Folder', 'Dossier'],
  fileGone: ['This file does not exist any more.', 'Ce fichier n’existe plus.'],
  fileIndex: ['Index', 'Index'],
  fileSize: ['Size', 'Taille'],
  fileTooLong: ['The text is too long to be shown here.', 'Le texte est trop long pour être affiché ici.'],
  fileTrashed: ['In the trash', 'Dans la corbeille'],
  indexNone: ['Not indexed', 'Non indexé'],

  // assistants and their index
  added: ['{n} file was added.|{n} files were added.', '{n} fichier a été ajouté.|{n} fichiers ont été ajoutés.'],
  addFiles: ['Add files', 'Ajouter des fichiers'],
  anotherFile: ['another file', 'un autre fichier'],
  avatar: ['Avatar', 'Avatar'],
  avatarChoose: ['Choose an image', 'Choisir une image'],
  avatarRemove: ['Remove the image', 'Retirer l’image'],
  dropHere: ['Drop the files here', 'Déposez les fichiers ici'],
  dropHint: ['or drop them onto the folder', 'ou déposez-les sur le dossier'],
  filesOf: ['What is in the folder', 'Contenu du dossier'],
  folder: ['Folder', 'Dossier'],
  folderEmpty: ['This folder is empty.', 'Ce dossier est vide.'],
  folderGone: ['This folder does not exist any more.', 'Ce dossier n’existe plus.'],
  folderHint: [
    'The assistant looks for its answers in this folder, and in those below.',
    'L’assistant cherche ses réponses dans ce dossier et ses sous-dossiers.'
  ],
  folderUp: ['One folder up', 'Dossier parent'],
  index: ['What it knows', 'Ce qu’il connaît'],
  indexOfAll: [
    'This assistant looks in all files that are indexed for any assistant.',
    'Cet assistant cherche dans tous les fichiers indexés pour un assistant, quel qu’il soit.'
  ],
  keepBoth: ['Keep both, as “{name}”', 'Garder les deux, sous le nom « {name} »'],
  myFiles: ['All my files', 'Tous mes fichiers'],
  newFolder: ['New folder inside', 'Nouveau dossier à l’intérieur'],
  noFolders: ['Folders cannot be added here, only files.', 'Seuls des fichiers peuvent être ajoutés ici, pas des dossiers.'],
  noImage: ['This is no image that the browser can read.', 'Ce n’est pas une image que le navigateur sait lire.'],
  notIndexed: ['Not indexed', 'Non indexés'],
  prompt: ['Instructions', 'Instructions'],
  promptHint: [
    'What the assistant is told with every question: its tone, its role, how long its answers are.',
    'Ce qui est dit à l’assistant avec chaque question : son ton, son rôle, la longueur de ses réponses.'
  ],
  reason_changed: ['Its content changed while it was read.', 'Son contenu a changé pendant sa lecture.'],
  reason_encrypted: ['It is encrypted.', 'Il est chiffré.'],
  reason_format: ['It is in a format that cannot be read.', 'Son format n’est pas lisible.'],
  reason_media: [
    'Images, sound and videos are not indexed here.',
    'Les images, les sons et les vidéos ne sont pas indexés ici.'
  ],
  reason_missing: ['It has no content.', 'Il n’a pas de contenu.'],
  reason_too_large: ['It is too large.', 'Il est trop volumineux.'],
  removeAssistantTitle: ['Delete this assistant?', 'Supprimer cet assistant ?'],
  removed: ['“{name}” was deleted.', '« {name} » a été supprimé.'],
  saved: ['Saved', 'Enregistré'],
  statusDuplicate: ['Same content as', 'Même contenu que'],
  statusError: ['Failed {date}', 'Échec le {date}'],
  statusErrorSince: ['Failed {date}; an earlier version is indexed', 'Échec le {date} ; une version antérieure est indexée'],
  statusIndexed: ['Indexed {date}', 'Indexé le {date}'],
  statusRefused: ['Refused.', 'Refusé.'],
  statusWaiting: ['Waiting', 'En attente'],
  talk: ['Chat with it', 'Discuter avec lui'],
  uploading: ['Being added…', 'Ajout en cours…'],
  uploadLeave: ['Leave it out', 'Ne pas l’ajouter'],
  uploads: ['Files being added', 'Fichiers en cours d’ajout'],
  uploadTaken: ['There is a file of this name already.', 'Un fichier de ce nom existe déjà.'],
  uploadWaiting: ['Waiting', 'En attente'],
  walked: ['The folder has been gone through.', 'Le dossier a été parcouru.'],
  walkedAll: [
    'The folder has been gone through: {files} file.|The folder has been gone through: {files} files.',
    'Le dossier a été parcouru : {files} fichier.|Le dossier a été parcouru : {files} fichiers.'
  ],
  walkedSoFar: [
    'Indexing: {done} of {total} file|Indexing: {done} of {total} files',
    'Indexation : {done} sur {total} fichier|Indexation : {done} sur {total} fichiers'
  ],
  walkFailed: ['The folder could not be gone through to its end.', 'Le dossier n’a pas pu être parcouru jusqu’au bout.'],
  walking: ['Indexing…', 'Indexation…']
}
